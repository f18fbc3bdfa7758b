// The conformance suite speaks HTTP only. This carries its messages to `harness mcp` over stdio and back, unread:
// bridge.mjs HARNESS PROJECT prints the address. One server for each `initialize`.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const [harness, project] = process.argv.slice(2);
const sessions = new Map();

function start() {
    const child = spawn(harness, ['--project', project, 'mcp'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const session = { child, streams: new Map() };
    createInterface({ input: child.stdout }).on('line', (line) => {
        const message = JSON.parse(line);
        const answered = message.method === undefined && session.streams.get(message.id);
        const write = (stream) => stream.write(`event: message\ndata: ${line}\n\n`);
        if (!answered) return session.streams.forEach(write);
        write(answered);
        answered.end();
        session.streams.delete(message.id);
    });
    return session;
}

const server = createServer((request, response) => {
    const id = request.headers['mcp-session-id'];
    if (request.method !== 'POST') {
        if (request.method === 'DELETE') sessions.get(id)?.child.stdin.end();
        return response.writeHead(405).end();
    }
    let body = '';
    request.on('data', (part) => { body += part; });
    request.on('end', () => {
        const message = JSON.parse(body);
        const name = message.method === 'initialize' ? randomUUID() : id;
        if (message.method === 'initialize') sessions.set(name, start());
        const session = sessions.get(name);
        if (!session) return response.writeHead(404).end();
        if (message.id === undefined) {
            session.child.stdin.write(`${body}\n`);
            return response.writeHead(202).end();
        }
        response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': name });
        session.streams.set(message.id, response);
        session.child.stdin.write(`${body}\n`);
    });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
process.stdin.resume().on('end', () => process.exit(0));
