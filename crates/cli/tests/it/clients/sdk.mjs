// The official TypeScript SDK as a client: sdk.mjs HARNESS PROJECT v1|v2 REVISION
// v1 is `@modelcontextprotocol/sdk`; v2 is `@modelcontextprotocol/client`, which also speaks 2026-07-28.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [harness, project, generation, revision] = process.argv.slice(2);
// The packages are installed beside the build, not beside this file.
const require = createRequire(join(process.cwd(), 'x.js'));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const modern = revision === '2026-07-28';

const parts = generation === 'v1'
    ? [await load('@modelcontextprotocol/sdk/client/index.js'), await load('@modelcontextprotocol/sdk/client/stdio.js')]
    : [await load('@modelcontextprotocol/client'), await load('@modelcontextprotocol/client/stdio')];
const [{ Client }, { StdioClientTransport }] = parts;

let changed;
const listed = new Promise((resolve) => { changed = resolve; });
const options = { listChanged: { tools: { onChanged: (error, tools) => changed(error ?? tools) } } };
if (generation === 'v2') {
    if (modern) options.versionNegotiation = { mode: { pin: revision } };
    else options.supportedProtocolVersions = [revision];
}
const client = new Client({ name: 'test', version: '1' }, options);
const transport = new StdioClientTransport({ command: harness, args: ['--project', project, 'mcp'] });
await client.connect(transport);

const call = (name, args, more) => generation === 'v1'
    ? client.callTool({ name, arguments: args }, undefined, more)
    : client.callTool({ name, arguments: args }, more);

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name), ['add_one', 'count_up', 'guarded', 'read_artifact', 'wait_long']);
assert.deepEqual(tools[0].annotations, { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false });

const sum = await call('add_one', { n: 41 });
assert.deepEqual(sum.structuredContent, { n: 42 });
const refused = await call('guarded', {});
assert.ok(refused.isError && refused.content[0].text.includes('not today'), JSON.stringify(refused));
const unfit = await call('add_one', { n: 'x' });
assert.ok(unfit.isError && unfit.content[0].text.includes('accepted: n (integer, required)'));
await assert.rejects(call('nothing', {}), (error) => error.code === -32602);

const steps = [];
await call('count_up', {}, { onprogress: ({ progress, total, message }) => steps.push([progress, total, message]) });
assert.deepEqual(steps, [[0.5, 1, 'half'], [1, 1, 'all']]);

// The tool takes one call at a time, so the next needs the place of the cancelled one.
for (let round = 0; round < 2; round += 1) {
    const giving = new AbortController();
    setTimeout(() => giving.abort('enough'), 500);
    await assert.rejects(call('wait_long', { seconds: 600 }, { signal: giving.signal }));
}
assert.ok(!(await call('wait_long', { seconds: 0 }, { timeout: 10_000 })).isError);

const many = Array.from({ length: 300 }, (_, n) => call('add_one', { n }));
(await Promise.all(many)).forEach((result, n) => assert.deepEqual(result.structuredContent, { n: n + 1 }));

const path = join(project, '.harness/tools/new_tool.md');
writeFileSync(path, '---\nscript: |\n  def run(args):\n    return {"new": True}\n---\nIs new.\n');
const now = await listed;
assert.ok(Array.isArray(now) && now.some((tool) => tool.name === 'new_tool'), String(now));
assert.deepEqual((await call('new_tool', {})).structuredContent, { new: true });
rmSync(path);
await client.close();
console.log('done', generation, revision);
