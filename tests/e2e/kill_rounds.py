"""Appends to a store under load, kills the appender with SIGKILL and restarts it.

usage: kill_rounds.py PROGRAM STORE ROUNDS SEED

Each run's events are sent in one order, so its log must be a beginning of that order, and every
event that was ever acknowledged must be in it, at the place that was answered.
"""

import json
import random
import subprocess
import sys
import threading

RUNS_AT_ONCE = 8
STEPS_PER_RUN = 40
EVENTS_PER_ROUND = 1500  # far more than are acknowledged before the kill
CHECK_EVERY = 5  # rounds


class Run:
    """The intended log of a run, and the answers received for it."""

    def __init__(self, number):
        self.run_id = f"run-{number}"
        self.events = []
        self.answers = {}  # event id -> (runSeq, persistedAt)
        self.add("RunStarted")
        for step in range(STEPS_PER_RUN):
            self.add("StepStarted", stepId=f"s{step}")
            self.add("ToolStarted", correlationId=f"t{step % 3}", parentId=f"s{step}")
            self.add("ToolProcessed", correlationId=f"t{step % 3}", parentId=f"s{step}")
            self.add("StepCompleted", stepId=f"s{step}")
        self.add("RunCompleted")

    def add(self, event_type, **members):
        event = {
            "eventId": f"{self.run_id}.{len(self.events) + 1}",
            "eventType": event_type,
            "runId": self.run_id,
            "logicalAttemptId": 1,
            "engineAttemptId": 1,
        }
        event.update(members)
        self.events.append(event)

    def unanswered(self):
        return [event for event in self.events if event["eventId"] not in self.answers]


class Failure(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failure(what)


class Store:
    def __init__(self, program, directory, seed):
        self.program = program
        self.directory = directory
        self.random = random.Random(seed)
        self.runs = []
        self.repeats = 0
        self.found_again = 0  # durable although the answer was lost

    def command(self, *words):
        return [self.program, "log", *words, "--store", self.directory]

    def begin_runs(self):
        while len([run for run in self.runs if run.unanswered()]) < RUNS_AT_ONCE:
            self.runs.append(Run(len(self.runs) + 1))

    def load(self):
        """Returns the load: each run's events in order, runs interleaved, some already acknowledged."""
        queues = [run.unanswered() for run in self.runs]
        queues = [queue for queue in queues if queue]
        answered = [(run, event) for run in self.runs[-RUNS_AT_ONCE - 2 :]
                    for event in run.events if event["eventId"] in run.answers]
        events = []
        while queues and len(events) < EVENTS_PER_ROUND:
            queue = self.random.choice(queues)
            events.append(queue.pop(0))
            if not queue:
                queues.remove(queue)
            if answered and self.random.random() < 0.05:
                events.append(self.random.choice(answered)[1])
        return events

    def note(self, event, answer):
        expect("error" not in answer, f"{event['eventId']} was refused: {answer}")
        run = self.runs[int(event["runId"].split("-")[1]) - 1]
        expect(answer["runId"] == run.run_id, f"an answer of another run: {answer}")
        expect(answer["eventId"] == event["eventId"], f"an answer of another event: {answer}")
        place = (answer["runSeq"], answer["persistedAt"])
        known = run.answers.setdefault(event["eventId"], place)
        expect(known == place, f"{event['eventId']} was at {known} and is at {place}")
        if answer["idempotent"]:
            self.repeats += 1

    def append(self, kill_after):
        """Sends a load; kills the program after so many answers, or never. Returns the answers."""
        events = self.load()
        batch = str(self.random.choice([1, 7, 32, 128]))
        appender = subprocess.Popen(
            self.command("append", "--dialect", "native", "--batch", batch),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        lines = [json.dumps(event).encode() + b"\n" for event in events]

        def feed():
            try:
                for line in lines:
                    appender.stdin.write(line)
                appender.stdin.close()
            except (BrokenPipeError, ValueError):
                pass  # it was killed

        writer = threading.Thread(target=feed)
        writer.start()
        if kill_after == 0:
            appender.kill()
        answered = 0
        for line in appender.stdout:
            if not line.endswith(b"\n"):
                break  # cut off by the kill
            answer = json.loads(line)
            expect(answer["line"] == answered + 1, f"answers are out of order: {answer}")
            self.note(events[answered], answer)
            answered += 1
            if answered == kill_after:
                appender.kill()
        complaint = appender.stderr.read().decode()
        status = appender.wait()
        writer.join()
        appender.stdout.close()
        appender.stderr.close()
        if kill_after is None:
            expect(status == 0, f"append ended with {status}: {complaint}")
            expect(answered == len(events), f"{answered} answers to {len(events)} events")
        else:
            expect(status in (-9, 0), f"append ended with {status}: {complaint}")
        return answered, len(events)

    def check(self, run):
        result = subprocess.run(self.command("read", run.run_id, "--output", "ndjson"),
                                capture_output=True, check=False)
        if result.returncode != 0:
            expect(not run.answers, f"{run.run_id} is lost: {result.stderr.decode()}")
            return 0
        stored = [json.loads(line) for line in result.stdout.splitlines()]
        ids = [event["eventId"] for event in stored]
        expect([event["runSeq"] for event in stored] == list(range(1, len(stored) + 1)),
               f"{run.run_id} is not contiguous")
        expect(len(set(ids)) == len(ids), f"{run.run_id} has an event twice")
        expect(ids == [event["eventId"] for event in run.events[: len(ids)]],
               f"{run.run_id} is not a beginning of what was sent")
        for event_id, (seq, persisted_at) in run.answers.items():
            expect(seq <= len(stored), f"{event_id} was acknowledged at {seq} but is lost")
            event = stored[seq - 1]
            expect(event["eventId"] == event_id, f"{event_id} is not at {seq}")
            expect(event["persistedAt"] == persisted_at, f"{event_id} has a different time")
        self.found_again += len(stored) - len(run.answers)
        return len(stored)

    def check_touched(self):
        return sum(self.check(run) for run in self.runs[-RUNS_AT_ONCE - 4 :])


def main():
    program, directory, rounds, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    store = Store(program, directory, seed)
    answered = sent = 0
    for number in range(1, rounds + 1):
        store.begin_runs()
        # Every tenth kill happens while the store is being opened.
        kill_after = 0 if number % 10 == 0 else 1 + store.random.randrange(300)
        got, given = store.append(kill_after)
        answered += got
        sent += given
        if number % CHECK_EVERY == 0:
            store.check_touched()
    print(f"ok - {rounds} kills under load: {answered} answers to {sent} events, "
          f"every acknowledged event is there, contiguous, once")
    print(f"# {store.found_again} events were durable when the kill came before their answers")
    while any(run.unanswered() for run in store.runs):
        store.append(kill_after=None)
    total = sum(store.check(run) for run in store.runs)
    expect(total == sum(len(run.events) for run in store.runs), "a run did not end")
    print(f"ok - without kills all {len(store.runs)} runs complete, {total} events")
    print(f"ok - {store.repeats} events that were sent again were answered with their original positions")
    verified = subprocess.run(store.command("verify"), capture_output=True, check=False)
    said = (verified.stdout + verified.stderr).decode().strip()
    expect(verified.returncode == 0, f"verify: {said}")
    print(f"ok - verify: {said}")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(f"not ok - {failure}")
        sys.exit(1)
