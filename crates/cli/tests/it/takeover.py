#!/usr/bin/python3 -S
"""A compromised worker. It forwards everything to a real worker until a request names an attack.

The harness starts it like any worker: it is asked on descriptor 3 and answers on 4. `REAL`, `LOG` and `INDEX` are filled in by the test.
"""
import os, re, signal, struct, subprocess, sys, time

REAL = "@REAL@"
LOG = "@LOG@"
INDEX = @INDEX@
BUILTINS = @BUILTINS@



class Channel:
    """One side of a channel: frames read from it and written to it."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    def sendall(self, data):
        while data:
            data = data[os.write(self.writer, data) :]

    def close(self):
        os.close(self.reader)
        os.close(self.writer)


# High enough to leave the real worker's descriptor numbers free.
up = Channel(os.dup(3), os.dup(4))
requests, answers = os.pipe(), os.pipe()
ours = Channel(answers[0], requests[1])
os.dup2(requests[0], 3)
os.dup2(answers[1], 4)
real = subprocess.Popen([REAL] + sys.argv[1:], pass_fds=(3, 4), env={})
for end in (3, 4, requests[0], answers[1]):
    os.close(end)


def exactly(channel, count):
    data = b""
    while len(data) < count:
        part = os.read(channel.reader, min(count - len(data), 1 << 20))
        if not part:
            os._exit(0)
        data += part
    return data


# The ticket of the current request.
ticket = 0


def receive(channel):
    global ticket
    (length, ticket) = struct.unpack("<IQ", exactly(channel, 12))
    return exactly(channel, length)


def head(length):
    return struct.pack("<IQ", length, ticket)


def send(channel, frame):
    channel.sendall(head(len(frame)) + frame)


def text(words):
    data = words.encode()
    return b"\x06" + struct.pack("<I", len(data)) + data


def number(value):
    return b"\x03" + struct.pack("<q", value)


def items(values):
    return b"\x07" + struct.pack("<I", len(values)) + b"".join(values)


NULL, TRUE, EMPTY = b"\x00", b"\x02", b"\x08" + struct.pack("<I", 0)


def cross(index, args, link=0, tag=2):
    send(up, bytes([tag]) + struct.pack("<III", index, link, len(args)) + b"".join(args))


def answer():
    frame = receive(up)
    return frame[0] == 4, frame[5:].decode(errors="replace") if frame[0] == 5 else ""


def done(value):
    send(up, b"\x04" + value)


def forward(frame):
    """Lets the real worker serve one request completely."""
    send(ours, frame)
    if frame[0] == 1:
        return
    while True:
        word = receive(ours)
        send(up, word)
        if word[0] == 2:
            send(ours, receive(up))
        elif word[0] != 3:
            return


GUESSES = [
    [],
    [text("canary.txt")],
    [text("canary.txt"), text("x")],
    [text("canary.txt"), text("x"), text("utf-8")],
    [text("canary.txt"), TRUE],
    [text("canary.txt"), number(1)],
    [text("canary.txt"), number(1), text("x")],
    [text("canary.txt"), number(1), number(1), text("x")],
    [text("victim.txt"), text("canary.txt")],
    [text("victim.txt"), text("a"), text("canary")],
    [text("HOME"), NULL],
    [text("k"), number(1), NULL],
    [text("k"), EMPTY],
    [EMPTY],
]


def every_builtin():
    passed = []
    for index in list(range(BUILTINS + 20)) + [2**31, 2**32 - 1]:
        for guess in GUESSES:
            cross(index, guess)
            if answer()[0]:
                passed.append(number(index))
            cross(index, guess, tag=3)
    done(items(passed))


def wrong_arguments():
    lies = [[], [text("canary.txt")], [number(1)] * 3, [NULL] * 3, [text("canary.txt"), EMPTY, text("utf-8")], [text("a")] * 9]
    lies.append([text("canary.txt"), text("x"), text("rot13")])
    lies.append([text("canary.txt\0.md"), text("x"), text("utf-8")])
    lies.append([text("../canary.txt"), text("x"), text("utf-8")])
    lies.append([text(".harness/hooks/guard.md"), text("x"), text("utf-8")])
    passed = []
    for number_of, lie in enumerate(lies):
        cross(INDEX["fs.write"], lie, link=2**32 - 1)
        if answer()[0]:
            passed.append(number(number_of))
    done(items(passed))


def dribble():
    for byte in head(100) + b"\x04" * 100:
        up.sendall(bytes([byte]))
        time.sleep(0.1)


def flood(tag):
    frame = bytes([tag]) + struct.pack("<III", INDEX["print"], 0, 1) + items([text("x")])
    block = (head(len(frame)) + frame) * 500
    while True:
        up.sendall(block)


def cross_for_ever():
    while True:
        cross(INDEX["fs.exists"], [text("a")])
        answer()


def ignore_and_wait():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)


def close_and_stay():
    up.close()
    time.sleep(60)


NESTED = (b"\x07" + struct.pack("<I", 2**32 - 1)) * 60
WIDE = b"\x07" + struct.pack("<I", 15_000_000) + b"\x00" * 15_000_000

DEEDS = {
    "every_builtin": every_builtin,
    "wrong_arguments": wrong_arguments,
    "oversized_length": lambda: up.sendall(head(2**32 - 1) + b"\x04\x00") or time.sleep(60),
    "oversized_frame": lambda: send(up, b"\x04" + text("x" * (40 << 20))) or time.sleep(60),
    "empty_frame": lambda: send(up, b"") or time.sleep(60),
    "unknown_tag": lambda: send(up, b"\x63abc") or time.sleep(60),
    "trailing_bytes": lambda: send(up, b"\x04\x00\x00") or time.sleep(60),
    "cut_value": lambda: send(up, b"\x04\x06\xff\xff\xff\x7fx") or time.sleep(60),
    "not_text": lambda: send(up, b"\x04\x06" + struct.pack("<I", 2) + b"\xff\xfe") or time.sleep(60),
    "not_a_number": lambda: send(up, b"\x04\x05" + struct.pack("<d", float("nan"))) or time.sleep(60),
    "not_digits": lambda: send(up, b"\x04\x04" + struct.pack("<I", 5) + b"1e999") or time.sleep(60),
    "too_deep": lambda: send(up, b"\x04" + (b"\x07" + struct.pack("<I", 1)) * 500_000 + b"\x00") or time.sleep(60),
    "claims_of_length": lambda: send(up, b"\x04" + NESTED + b"\x00" * (8 << 20)) or time.sleep(60),
    "wide_list": lambda: send(up, b"\x04" + WIDE) or time.sleep(60),
    "wide_call": lambda: send(up, b"\x02" + struct.pack("<III", 0, 0, 15_000_000) + b"\x00" * 15_000_000) or time.sleep(60),
    "ready_again": lambda: send(up, b"\x00") or time.sleep(60),
    "facts": lambda: send(up, b"\x01" + text("{}")[1:]) or time.sleep(60),
    "verdicts": lambda: send(up, b"\x08" + struct.pack("<I", 1) + b"\x00") or time.sleep(60),
    "result_without_fields": lambda: send(up, b"\x05" + number(7)),
    "dribble": dribble,
    "half_a_frame": lambda: up.sendall(head(100) + b"\x04") or time.sleep(60),
    "notes_for_ever": lambda: flood(3),
    "cross_for_ever": cross_for_ever,
    "cross_without_listening": lambda: flood(2),
    "never": lambda: time.sleep(60),
    "never_and_deaf_to_signals": ignore_and_wait,
    "spin": lambda: [None for _ in iter(int, 1)],
    "twice": lambda: (done(text("first")), done(text("second"))),
    "close": lambda: os._exit(0),
    "close_and_stay": close_and_stay,
    "die": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    # What a worker answers to a chain of hooks.
    "no_verdicts": lambda: send(up, b"\x08" + struct.pack("<I", 0)),
    "too_many_verdicts": lambda: send(up, b"\x08" + struct.pack("<I", 99) + b"\x00" * 99),
    "a_result_for_a_chain": lambda: done(NULL),
    "decision_of_no_kind": lambda: send(up, b"\x08" + struct.pack("<I", 1) + b"\x01" + number(1)),
}

with open(LOG, "a") as log:
    # The real worker says it is ready before the harness asks anything.
    send(up, receive(ours))
    while True:
        frame = receive(up)
        asked = re.search(rb"deed=(\w+)", frame) if frame[0] in (2, 3) else None
        session = re.search(rb"session=(\w+)", frame)
        kind = frame[1] if frame[0] == 0 else ""
        log.write(f"{os.getpid()} {frame[0]} {kind} {session.group(1).decode() if session else ''}\n")
        log.flush()
        deed = asked.group(1).decode() if asked else ""
        aimed_at_hooks = deed.startswith("hook_")
        if deed and aimed_at_hooks == (frame[0] == 3):
            DEEDS[deed.removeprefix("hook_")]()
        else:
            forward(frame)
