"""A worker in Python, and a client that starts a run for it.

    PYTHONPATH=sdk/python python3 examples/python_worker.py
    PYTHONPATH=sdk/python python3 examples/python_worker.py start examples/worker.yaml [QUANTITY]

Both use the server at EVERSTEP_URL (default http://127.0.0.1:7377) with EVERSTEP_TOKEN. Ctrl-C or
SIGTERM stops the worker: it takes no new tasks, finishes those in flight, and unregisters.
"""

import itertools
import logging
import random
import sys

import everstep

worker = everstep.Worker(slots=8)
charges = {}  # simulates the bank: each key is charged once, even if the task is repeated
parcels = itertools.count(1)


@worker.task("acme.charge")
def charge(ctx, inputs):
    if inputs["amount"] > 10_000:
        raise everstep.TaskFailed("CARD_DECLINED", "more than the card has")
    if random.random() < 0.3:
        raise everstep.TaskFailed("BANK_BUSY", "try again", retryable=True, retry_after=0.1)
    charge_id = charges.setdefault(ctx.idempotency_key, f"charge-{len(charges) + 1}")
    return {"id": charge_id, "amount": inputs["amount"]}


@worker.task("acme.refund")
def refund(ctx, inputs):
    print("refunded", inputs["charge"])


@worker.task("acme.ship")
def ship(ctx, inputs):
    for _ in range(inputs["quantity"]):
        # Packing an item takes time; a cancelled run does not wait for all items.
        if ctx.cancelled.wait(0.01):
            raise everstep.TaskCancelled("the parcel is unpacked")
    return {"parcel": f"parcel-{next(parcels)}"}


def start(plan, quantity):
    with everstep.Client() as client, open(plan, encoding="utf-8") as document:
        run = client.start(document.read(), {"quantity": quantity})
        try:
            result = run.result(timeout=60)
        except everstep.RunFailed as failed:
            print(f"{run.id} has failed: {failed}")
            return 1
        print(f"charged {result['charged']} EUR, parcel {result['parcel']}")
        return 0


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    if sys.argv[1:2] == ["start"]:
        sys.exit(start(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 2))
    worker.run()
