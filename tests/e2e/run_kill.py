"""Runs plans with `everstep run`, kills it with SIGKILL at random times and runs it again.

usage: run_kill.py PROGRAM DIRECTORY KILLS SEED

Every execution of a shell step appends one line, "run step attempt", to a file that the engine
knows nothing of. That file and the logs of the runs are all that is judged.
"""

import collections
import json
import os
import random
import subprocess
import sys
import time

RUNS_AT_ONCE = 3
KILL_AFTER_MAX = 0.5  # seconds; the run of a plan takes about as long without a kill
END_WITHIN = 60  # seconds, without kills

PLAN = """
metadata: {planId: killed, planVersion: "1.0"}
inputs:
  effects: {type: string, required: true}
steps:
  - {stepId: first, kind: shell, inputs: {argv: [bash, "-c", "TRACE; sleep 0.05"]}}
  - stepId: north
    dependsOn: [first]
    kind: shell
    inputs: {argv: [bash, "-c", "TRACE; sleep 0.1"]}
  - stepId: south
    dependsOn: [first]
    kind: shell
    inputs: {argv: [bash, "-c", "TRACE; sleep 0.15"]}
  - stepId: stubborn
    dependsOn: [first]
    kind: shell
    inputs: {argv: [bash, "-c", "TRACE; sleep 0.03; test $EVERSTEP_ATTEMPT -ge 3"]}
    retryPolicy: {maxAttempts: 5, backoff: linear, initialDelay: 40ms}
  - stepId: hopeless
    dependsOn: [first]
    kind: shell
    inputs: {argv: [bash, "-c", "TRACE; exit 1"]}
    retryPolicy: {maxAttempts: 2, backoff: none}
    onFailure: continue
  - stepId: each
    dependsOn: [north]
    foreach: {items: [1, 2, 3, 4, 5, 6], maxInFlight: 2}
    kind: shell
    inputs: {argv: [bash, "-c", "TRACE; sleep 0.04"]}
  - {stepId: pause, dependsOn: [south], waitFor: {duration: 200ms}}
  - stepId: last
    dependsOn: [each, pause, stubborn, hopeless]
    kind: shell
    inputs: {argv: [bash, "-c", "TRACE"]}
"""
TRACE = 'echo $EVERSTEP_RUN_ID $EVERSTEP_STEP_ID $EVERSTEP_ATTEMPT >>{{ inputs.effects }}'

# How each unit must end, and after how many attempts.
ENDS = {step: ("StepCompleted", 1) for step in ("first", "north", "south", "each", "pause", "last")}
ENDS.update({f"each:{item}": ("StepCompleted", 1) for item in range(6)})
ENDS.update({"stubborn": ("StepCompleted", 3), "hopeless": ("StepFailed", 2)})
QUIET = ("each", "pause")  # units without a program


class Failure(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failure(what)


class World:
    def __init__(self, program, directory, seed):
        self.program = program
        self.data = os.path.join(directory, "data")
        self.plan = os.path.join(directory, "plan.yaml")
        self.effects = os.path.join(directory, "effects")
        self.random = random.Random(seed)
        self.runs = 0
        self.kills = 0
        self.complete = set()  # (run, step) that the log reported as complete
        self.lines_seen = 0
        with open(self.plan, "w", encoding="utf-8") as file:
            file.write(PLAN.replace("TRACE", TRACE))
        open(self.effects, "w", encoding="utf-8").close()

    def command(self, *words):
        return [self.program, *words]

    def start(self, run_id):
        words = ["run", self.plan, "--data", self.data, "--run-id", run_id, "--no-watch"]
        words += ["--input", f"effects={self.effects}"]
        return subprocess.Popen(
            self.command(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def events(self, run_id):
        done = subprocess.run(
            self.command("events", run_id, "--data", self.data, "--output", "json"),
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            return []  # killed before the run existed
        return json.loads(done.stdout)

    def lines(self):
        with open(self.effects, encoding="utf-8") as file:
            return [line.split() for line in file.read().splitlines()]

    def run_once(self, run_id):
        """Lets the run continue for a random time. Returns whether it ended by itself."""
        process = self.start(run_id)
        try:
            _, errors = process.communicate(timeout=self.random.uniform(0.005, KILL_AFTER_MAX))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.kills += 1
            return False
        expect(process.returncode == 0, f"{run_id} ended with {process.returncode}: {errors}")
        return True

    def look(self, run_ids):
        """Requires: the program is not running. Checks that completed steps stay complete."""
        lines = self.lines()
        for run_id, step, attempt in lines[self.lines_seen :]:
            expect(
                (run_id, step) not in self.complete,
                f"{run_id} {step} ran again (attempt {attempt}) after it was complete",
            )
        self.lines_seen = len(lines)
        for run_id in run_ids:
            for event in self.events(run_id):
                if event["eventType"] == "StepCompleted":
                    self.complete.add((run_id, event["stepId"]))

    def judge(self, run_id):
        events = self.events(run_id)
        expect(events and events[-1]["eventType"] == "RunCompleted", f"{run_id} is not complete")
        expect(
            [event["runSeq"] for event in events] == list(range(1, len(events) + 1)),
            f"{run_id} has a gap in its log",
        )
        deliveries = collections.Counter()  # (step, attempt) -> StepStarted events
        ends = {}
        for event in events:
            step, attempt = event.get("stepId"), event["logicalAttemptId"]
            if event["eventType"] == "StepStarted":
                is_over = step in ends and ends[step][0] != "StepFailed"
                expect(not is_over, f"{run_id} {step} started again")
                deliveries[step, attempt] += 1
                expect(
                    event["engineAttemptId"] == deliveries[step, attempt],
                    f"{run_id} {step} has delivery {event['engineAttemptId']} out of turn",
                )
            elif event["eventType"] in ("StepCompleted", "StepFailed", "StepSkipped"):
                ends[step] = (event["eventType"], attempt)
        expect(ends == ENDS, f"{run_id} ended with {ends}")
        executed = collections.Counter(
            (step, int(attempt)) for run, step, attempt in self.lines() if run == run_id
        )
        for (step, attempt), delivered in deliveries.items():
            if step in QUIET:
                continue
            count = executed.pop((step, attempt), 0)
            expect(count >= 1, f"{run_id} {step} attempt {attempt} was never executed")
            expect(
                count <= delivered,
                f"{run_id} {step} attempt {attempt} ran {count} times for {delivered} deliveries",
            )
        expect(not executed, f"{run_id} executed attempts that its log does not contain: {dict(executed)}")

    def finish(self, run_id):
        process = self.start(run_id)
        try:
            _, errors = process.communicate(timeout=END_WITHIN)
        except subprocess.TimeoutExpired as late:
            process.kill()
            process.communicate()
            raise Failure(f"{run_id} did not end in {END_WITHIN} s without kills") from late
        expect(process.returncode == 0, f"{run_id} ended with {process.returncode}: {errors}")


def main(program, directory, kills, seed):
    world = World(program, directory, seed)
    began = time.monotonic()
    open_runs = []
    ended = []
    while world.kills < kills:
        while len(open_runs) < RUNS_AT_ONCE:
            world.runs += 1
            open_runs.append(f"run-{world.runs}")
        # The other runs continue too while one is watched.
        run_id = world.random.choice(open_runs)
        if world.run_once(run_id):
            open_runs.remove(run_id)
            ended.append(run_id)
        world.look(open_runs + ended[-1:])
    for run_id in open_runs:
        world.finish(run_id)
    world.look(open_runs + ended)
    for run_id in ended + open_runs:
        world.judge(run_id)
    verify = subprocess.run(
        world.command("log", "verify", "--store", os.path.join(world.data, "store")),
        capture_output=True,
        check=False,
    )
    expect(verify.returncode == 0, f"verify found: {verify.stdout} {verify.stderr}")
    lines = world.lines()
    again = len(lines) - len({tuple(line) for line in lines})
    print(
        f"ok - {world.kills} kills, {world.runs} runs, {len(lines)} executions"
        f" ({again} of them again after a kill), {time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    except Failure as failure:
        print(f"not ok - {failure} (seed {sys.argv[4]})")
        sys.exit(1)
