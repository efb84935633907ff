"""Tokens and TLS against a real nestd."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import tempfile
import unittest
from typing import Any

import nest
from nest import NestError

from .server import MISSING, Server


@unittest.skipIf(MISSING, MISSING)
@unittest.skipUnless(shutil.which("openssl"), "openssl is missing")
class SecurityTests(unittest.IsolatedAsyncioTestCase):
    async def test_a_token_over_tls(self) -> None:
        directory = tempfile.mkdtemp(prefix="nest-python-")
        self.addCleanup(shutil.rmtree, directory)
        key, certificate = os.path.join(directory, "key.pem"), os.path.join(directory, "cert.pem")
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
        names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate]
        subprocess.run([*command.split(), *names], check=True, capture_output=True)
        server = Server("--tls-cert", certificate, "--tls-key", key)
        self.addCleanup(server.close)
        server.stop()
        token = server.run("token", "create", "me")
        server.start()
        address = f"nests://127.0.0.1:{server.port}"
        context = ssl.create_default_context(cafile=certificate)
        async with nest.connect(address, token=token, tls=context) as client:
            items = await client.entity("Item")
            await client.transaction([items.insert(title="Secret")])
            self.assertEqual(await client.count(items.where('title == "Secret"')), 1)
        refusals: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
            (address, {"tls": context}, ("UNAUTHENTICATED",)),
            # The certificate is not one that this machine trusts.
            (address, {"token": token}, ("UNREACHABLE",)),
            # The server may answer with a message of TLS before it closes the connection.
            (server.address, {"token": token}, ("UNREACHABLE", "PROTOCOL")),
        ]
        for wrong, options, names in refusals:
            with self.subTest(names), self.assertRaises(NestError) as caught:
                async with nest.connect(wrong, **options):
                    self.fail("it has connected")
            self.assertIn(caught.exception.name, names)


if __name__ == "__main__":
    unittest.main()
