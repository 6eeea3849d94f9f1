"""Both clients and workers over TLS, with a token."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import unittest
from typing import Any

import everstep

from .server import Server, plan_of


class SecurityTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.mkdtemp(prefix="everstep-tls-")
        self.addCleanup(shutil.rmtree, folder)
        certificate, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
        subprocess.run(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
            " -subj /CN=everstep -addext subjectAltName=IP:127.0.0.1".split()
            + ["-keyout", key, "-out", certificate],
            check=True,
            capture_output=True,
        )
        self.tls = ssl.create_default_context(cafile=certificate)
        self.server = Server("--tls-certificate", certificate, "--tls-key", key, tls=self.tls)
        self.addCleanup(self.server.remove)
        self.server.start()
        found = re.search(r"token is in (.*)", self.server.log())
        assert found is not None, self.server.log()
        with open(found.group(1), encoding="utf-8") as file:
            self.token = file.read().strip()

    def test_a_run_is_done_over_tls_with_a_token(self) -> None:
        plan = plan_of("secure", {"kind": "secure.job"}, outputs="{{ steps.s1.result }}")
        url, token, tls = self.server.url, self.token, self.tls
        worker = everstep.Worker(url, token=token, tls=tls)
        worker.task("secure.job")(lambda ctx, inputs: "done")
        with worker, everstep.Client(url, token=token, tls=tls) as client:
            self.assertEqual(client.start(plan).result(20), "done")

        async def main() -> Any:
            async with everstep.AsyncClient(url, token=token, tls=tls) as aclient:
                with self.assertRaises(everstep.EverstepError) as caught:
                    await aclient.get("nobody")
                return caught.exception.code

        self.assertEqual(asyncio.run(main()), "RUN_NOT_FOUND")
        # Neither works: without the token, or without the certificate.
        with everstep.Client(url, token="", tls=tls) as client:
            with self.assertRaises(everstep.EverstepError) as caught:
                client.get("nobody")
            self.assertEqual(caught.exception.code, "UNAUTHENTICATED")
        with everstep.Client(url, token=token, retry_for=0.2) as client:
            with self.assertRaises(everstep.TransportError):
                client.get("nobody")


if __name__ == "__main__":
    unittest.main()
