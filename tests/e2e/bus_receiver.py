"""Receives signed webhooks and records each event before it answers.

usage: bus_receiver.py PORT FOLDER SECRET...

FOLDER/received gets a line "runId runSeq eventId" for every accepted event. These files control the
receiver while they exist: FOLDER/poison holds "runId runSeq" of an event to refuse, FOLDER/slow the
seconds to wait, FOLDER/status a status to answer with, FOLDER/redirect a URL to redirect to.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER = sys.argv[2]
SECRETS = [base64.b64decode(secret.removeprefix("whsec_")) for secret in sys.argv[3:]]


def setting(name):
    try:
        with open(os.path.join(FOLDER, name)) as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def is_signed(self, body):
        moment = self.headers["webhook-timestamp"]
        if abs(time.time() - int(moment)) > 300:
            return False
        text = f"{self.headers['webhook-id']}.{moment}.".encode() + body
        right = {"v1," + base64.b64encode(hmac.new(secret, text, hashlib.sha256).digest()).decode()
                 for secret in SECRETS}
        return bool(right & set(self.headers["webhook-signature"].split()))

    def answer(self, status, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.is_signed(body):
            return self.answer(401)
        if setting("slow"):
            time.sleep(float(setting("slow")))
        if setting("redirect"):
            return self.answer(307, [("Location", setting("redirect"))])
        if setting("status"):
            return self.answer(int(setting("status")))
        events = json.loads(body)
        events = events if isinstance(events, list) else [events]
        poison = setting("poison")
        lines = []
        for event in events:
            event = event.get("data", event)
            if poison == f"{event['runId']} {event['runSeq']}":
                return self.answer(422)
            lines.append(f"{event['runId']} {event['runSeq']} {event['eventId']}\n")
        os.write(RECEIVED, "".join(lines).encode())
        self.answer(204)

    def log_message(self, *_):
        pass


RECEIVED = os.open(os.path.join(FOLDER, "received"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
ThreadingHTTPServer.request_queue_size = 64
ThreadingHTTPServer.allow_reuse_address = True
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
