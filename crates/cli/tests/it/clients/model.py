"""A scripted model: it calls one tool once, logs the result, and says it is done.

usage: model.py PORT_FILE NOTES_FILE CALL
CALL is {"tool": [names, the first one offered is called], "input": {...}}. Plays Anthropic's Messages and OpenAI's Responses, streaming.
Every result that a client sends back is one JSON line of NOTES_FILE.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT_FILE, NOTES_FILE = sys.argv[1:3]
CALL = json.loads(sys.argv[3])
ID = "call_scripted_1"


def note(kind, value):
    with open(NOTES_FILE, "a") as notes:
        notes.write(json.dumps({kind: value}) + "\n")


def chosen(offered):
    """The tool to call: the first of the script's names that this request offers, with the arguments that name takes."""
    for name in CALL["tool"]:
        if name in offered:
            arguments = dict(CALL["input"])
            if name == "exec_command":
                arguments = {"cmd": arguments["command"]}
            if name == "shell":
                arguments = {"command": ["bash", "-lc", arguments["command"]]}
            return name, arguments
    return None


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body, kind="application/json"):
        body = body.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(json.dumps({"data": [], "models": []}))

    def do_HEAD(self):
        self.answer("")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path:
            self.answer(json.dumps({"input_tokens": 1}))
        elif "/responses" in self.path:
            self.play_responses(request)
        elif "/messages" in self.path:
            self.play_messages(request)
        else:
            self.answer("{}")

    def stream(self, events):
        lines = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.answer(lines, "text/event-stream")

    def play_messages(self, request):
        results = []
        for message in request.get("messages", []):
            content = message["content"] if isinstance(message["content"], list) else []
            results += [block for block in content if block.get("type") == "tool_result" and block.get("tool_use_id") == ID]
        offered = [tool.get("name") for tool in request.get("tools") or []]
        tool = None if results else chosen(offered)
        if results:
            note("result", results[-1])
        if tool:
            block = {"type": "tool_use", "id": ID, "name": tool[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(tool[1])}
        else:
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": "done"}
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model"), "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        stop = "tool_use" if tool else "end_turn"
        if not request.get("stream"):
            whole = {"type": "tool_use", "id": ID, "name": tool[0], "input": tool[1]} if tool else {"type": "text", "text": "done"}
            self.answer(json.dumps({**message, "content": [whole], "stop_reason": stop}))
            return
        self.stream([
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ])

    def play_responses(self, request):
        outputs = [item for item in request.get("input", []) if str(item.get("type", "")).endswith("_call_output")]
        offered = {}
        for tool in request.get("tools") or []:
            offered[tool.get("name") or tool.get("type")] = None
            # The tools of a server come as a namespace; a call names a tool in it.
            for inner in tool.get("tools") or []:
                offered[f"{tool['name']}__{inner['name']}"] = (tool["name"], inner["name"])
        tool = None if outputs else chosen(offered)
        if outputs:
            note("result", outputs[-1])
        if tool and tool[0] == "apply_patch" and any(t.get("name") == "apply_patch" and t.get("type") == "custom" for t in request["tools"]):
            item = {"type": "custom_tool_call", "call_id": ID, "name": tool[0], "input": tool[1]["command"]}
        elif tool:
            item = {"type": "function_call", "id": "fc_1", "call_id": ID, "name": tool[0], "arguments": json.dumps(tool[1])}
            if offered[tool[0]]:
                item["namespace"], item["name"] = offered[tool[0]]
        else:
            item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
        self.stream([
            {"type": "response.created", "response": {"id": "resp_1"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
        ])


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
with open(PORT_FILE + ".part", "w") as file:
    file.write(str(server.server_port))
os.rename(PORT_FILE + ".part", PORT_FILE)
server.serve_forever()
