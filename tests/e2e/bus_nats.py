"""The part of the NATS protocol that a test needs to create a stream and to read it."""

import json
import socket


class Nats:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.file = self.socket.makefile("rb")
        self.file.readline()  # INFO
        self.send('CONNECT {"verbose":false,"headers":true,"no_responders":true}')
        self.send("SUB reply.* 1")
        self.early = []  # messages that arrived before the answer to a request

    def send(self, line, body=None):
        text = line.encode() + b"\r\n"
        if body is not None:
            text += body + b"\r\n"
        self.socket.sendall(text)

    def message(self):
        """Returns (subject, headers, body) of the next message."""
        while True:
            words = self.file.readline().split()
            if not words:
                raise EOFError("the broker has gone")
            if words[0] == b"PING":
                self.send("PONG")
            elif words[0] in (b"MSG", b"HMSG"):
                total = int(words[-1])
                head = int(words[-2]) if words[0] == b"HMSG" else 0
                data = self.file.read(total + 2)[:total]
                return words[1].decode(), data[:head].decode(), data[head:]

    def ask(self, subject, body):
        text = json.dumps(body).encode()
        self.send(f"PUB {subject} reply.1 {len(text)}", text)
        while True:
            message = self.message()
            if message[0].startswith("reply."):
                return json.loads(message[2])
            self.early.append(message)

    def make_stream(self, name, subjects):
        answer = self.ask(f"$JS.API.STREAM.CREATE.{name}",
                          {"name": name, "subjects": subjects, "storage": "file", "retention": "limits",
                           "discard": "old", "duplicate_window": 120_000_000_000, "num_replicas": 1,
                           "max_consumers": -1, "max_msgs": -1, "max_bytes": -1, "max_age": 0})
        if "error" in answer:
            raise RuntimeError(answer)

    def count(self, name):
        return self.ask(f"$JS.API.STREAM.INFO.{name}", {})["state"]["messages"]

    def read(self, name):
        """Returns every message of a stream, in order."""
        count = self.count(name)
        self.send("SUB deliver 2")
        answer = self.ask(f"$JS.API.CONSUMER.CREATE.{name}",
                          {"stream_name": name, "config": {"deliver_subject": "deliver",
                                                           "deliver_policy": "all", "ack_policy": "none",
                                                           "replay_policy": "instant"}})
        if "error" in answer:
            raise RuntimeError(answer)
        early, self.early = self.early, []
        return early + [self.message() for _ in range(count - len(early))]
