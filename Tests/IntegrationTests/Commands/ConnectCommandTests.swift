import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// How nestc finds its server, and what it says if it cannot.
    @Suite struct ConnectCommands {
        private let directory = TemporaryDirectory()

        private func user(_ server: String) -> CommandLineUser {
            CommandLineUser(server: server, directory: self.directory)
        }

        private func run(_ arguments: String..., with variables: [String: String] = [:]) async throws
            -> CommandLineUser.Result
        {
            let environment = self.user("").environment.merging(variables) { $1 }
            return try await CommandLineUser.Result(
                ChildProcess(Program.nestc, arguments, environment: environment)
            )
        }

        @Test func everyFormOfAnAddressConnects() async throws {
            let server = try await ServerProcess.started()
            let port = await server.port
            for address in [
                "127.0.0.1:\(port)", ":\(port)", "nest://127.0.0.1:\(port)", "tcp://127.0.0.1:\(port)/",
                "127.0.0.1:\(port)/", "NEST://localhost:\(port)", "[::ffff:127.0.0.1]:\(port)",
            ] {
                let given = try await self.run("ping", "--quiet", "--server", address)
                #expect(given.status == 0, "\(given.report)")
                let set = try await self.run("ping", "--quiet", with: ["NEST_SERVER": address])
                #expect(set.status == 0, "\(set.report)")
                let saved = try await self.run("context", "set", "c", "--server", address, "--quiet")
                #expect(saved.status == 0, "\(saved.report)")
                let used = try await self.run("ping", "--quiet", "--context", "c")
                #expect(used.status == 0, "\(used.report)")
            }
            // The same server is one server, whatever the form of its address: one session.
            let user = self.user("nest://127.0.0.1:\(port)/")
            try await user.output("add", "Milk")
            let undone = try await self.run("undo", "--server", "tcp://127.0.0.1:\(port)")
            #expect(undone.output == "undid: add item \"Milk\"\n", "\(undone.report)")
        }

        /// A server of a list that is not there costs nothing but an attempt.
        @Test func everyFormOfAListConnects() async throws {
            let server = try await ServerProcess.started()
            let port = await server.port
            let gone = try await ServerProcess.started()
            let goneAddress = await gone.address
            try await gone.killNow()
            for list in [
                "127.0.0.1:\(port),\(goneAddress)", "\(goneAddress),:\(port)", "nest://\(goneAddress),:\(port)/",
                "nest://\(goneAddress),nest://localhost:\(port)/default",
            ] {
                let given = try await self.run("ping", "--quiet", "--server", list)
                #expect(given.status == 0, "\(given.report)")
                let set = try await self.run("ping", "--quiet", with: ["NEST_SERVER": list])
                #expect(set.status == 0, "\(set.report)")
                let saved = try await self.run("context", "set", "c", "--server", list, "--quiet")
                #expect(saved.status == 0, "\(saved.report)")
                let used = try await self.run("ping", "--quiet", "--context", "c")
                #expect(used.status == 0, "\(used.report)")
            }
            let shown = try await self.run("context", "show", "c", "--json")
            let text = "nest://\(goneAddress),localhost:\(port)/default"
            #expect(shown.output.contains(#""server":"\#(text)""#), "\(shown.report)")
            let copied = try await self.run("cp", "1", "1@\(goneAddress),:\(port)", "--server", ":\(port)", "--below")
            #expect(copied.status == 0, "\(copied.report)")
            let other = try await self.run("ping", "--server", "nest://:\(port),\(goneAddress)/mine")
            #expect(other.status != 0 && other.errors.contains("the store 'default', not 'mine'"), "\(other.report)")
        }

        @Test func everyServerOfAListIsNamedWhenNoneAnswers() async throws {
            let gone = try await ServerProcess.started()
            let address = await gone.address
            try await gone.killNow()
            let list = "\(address),no.such.host.invalid:7000"
            let result = try await self.run("ping", "--server", list)
            #expect(result.status == 69, "\(result.report)")
            #expect(result.errors.hasPrefix("nestc: cannot connect to any of 2 servers:\n"), "\(result.report)")
            let texts = [
                "\(address): nothing listens there", "unknown host 'no.such", "Check the addresses", "UNREACHABLE",
            ]
            for text in texts {
                #expect(result.errors.contains(text), "\(result.report)")
            }
            let json = try await self.run("ping", "--server", list, "--json")
            #expect(json.status == 69 && json.errors.contains(#""code":"UNREACHABLE""#), "\(json.report)")
            #expect(json.errors.contains("\(address): nothing listens there"), "\(json.report)")
        }

        /// A fault begins with the name of what the user has to correct.
        @Test func faultsNameTheirSource() async throws {
            let wrong = "127.0.0.1:99999"
            for (result, start) in [
                (try await self.run("ping", "--server", wrong), "nestc: --server: '\(wrong)' is not the address"),
                (try await self.run("ping", with: ["NEST_SERVER": wrong]), "nestc: NEST_SERVER: '\(wrong)' is not"),
                (
                    try await self.run("ping", with: ["NEST_SERVER": "http://h"]),
                    "nestc: NEST_SERVER: 'http://h' is not"
                ),
                (
                    try await self.run("ping", "--server", "127.0.0.1:7000,\(wrong)"),
                    "nestc: --server: '\(wrong)' is not the address"
                ),
                (try await self.run("ping", "--server", "7001"), "nestc: --server: '7001' is not the address"),
                (try await self.run("ping", with: ["NEST_SESSION": "x"]), "nestc: NEST_SESSION: a session must be"),
                (
                    try await self.run("ping", with: ["NEST_CONTEXT": "none"]),
                    "nestc: NEST_CONTEXT: there is no context 'none'"
                ),
                (
                    try await self.run("ping", with: ["NEST_TOKEN_FILE": "/none"]),
                    "nestc: NEST_TOKEN_FILE: there is no token file /none"
                ),
                (try await self.run("ping", "--token-file", "/none"), "nestc: there is no token file /none"),
                (
                    try await self.run("context", "set", "c", "--server", wrong),
                    "nestc: --server: '\(wrong)' is not the address"
                ),
            ] {
                #expect(result.status == 64 || result.status == 78, "\(result.report)")
                #expect(result.errors.hasPrefix(start), "\(result.report)")
            }
            let nestd = try ChildProcess(
                Program.nestd,
                ["--memory", "--check-config"],
                environment: ["NESTD_PORT": "many", "NESTD_TLS_CERT": "x.crt"]
            )
            #expect(try await nestd.waitForEnd() == .exit(78))
            #expect(
                nestd.errors.contains("NESTD_PORT must be a whole number from 0 to 65535"),
                "\(nestd.errors)"
            )
            let pair = try ChildProcess(
                Program.nestd,
                ["--memory", "--check-config"],
                environment: ["NESTD_TLS_CERT": "x.crt"]
            )
            #expect(try await pair.waitForEnd() == .exit(78))
            #expect(pair.errors.contains("NESTD_TLS_CERT needs NESTD_TLS_KEY"), "\(pair.errors)")
        }

        /// The first context becomes the current one, and nestc says so.
        @Test func theFirstContextBecomesTheCurrentOneWithWords() async throws {
            let first = try await self.run("context", "set", "one", "--server", "nest://h:7001")
            #expect(first.status == 0 && first.errors.contains("now the current one"), "\(first.report)")
            #expect(first.errors.contains("h:7001"))
            for arguments in [["two", "--server", "nests://h:7002"], ["one", "--server", "h:7003"]] {
                let result = try await self.user("").run(["context", "set"] + arguments)
                #expect(result.status == 0 && result.errors == "", "\(result.report)")
            }
            let list = try await self.run("context", "list")
            #expect(list.output == "* one\th:7003\tplain\tno token\n  two\th:7002\ttls\tno token\n", "\(list.report)")
            let again = try await self.run("context", "set", "one", "--server", "h:7003")
            #expect(again.errors == "", "\(again.report)")
        }

        /// Nothing listens: only then nestc says how to start a server, with the port that was asked for.
        @Test func theHintForAMissingServerHasItsPort() async throws {
            let server = try await ServerProcess.started()
            let port = await server.port
            try await server.killNow()
            let local = try await self.run("ping", "--server", "127.0.0.1:\(port)")
            #expect(local.status == 69 && local.errors.contains("'nestd --port \(port)'"), "\(local.report)")
            let unknown = try await self.run("ping", "--server", "no.such.host.invalid:7000")
            #expect(unknown.status == 69 && unknown.errors.contains("unknown host"), "\(unknown.report)")
            #expect(!unknown.errors.contains("Start it"), "\(unknown.report)")
        }

        /// Options for TLS and tokens are for the server of the command, so they are no advice for another one.
        @Test func aCopyNamesTheSettingsOfTheOtherServer() async throws {
            let server = try await ServerProcess.started()
            let plain = await server.address
            let secure = try await self.run("cp", "1", "1@nests://\(plain)", "--server", plain)
            #expect(secure.status != 0 && secure.errors.contains("does not speak TLS"), "\(secure.report)")
            #expect(secure.errors.contains("Write its address with nest://"), "\(secure.report)")
            let unknown = try await self.run("cp", "1", "1@nosuch.invalid", "--server", plain)
            #expect(unknown.errors.contains("There is no context 'nosuch.invalid' either"), "\(unknown.report)")
        }

        @Test func faultsOfTLSAreExplained() async throws {
            let authority = try TestAuthority("authority", in: self.directory)
            let other = try TestAuthority("other", in: self.directory)
            let identity = try authority.identity("server", host: "nest.lab")
            let plain = try await ServerProcess.started()
            let server = ServerProcess(arguments: [
                "--tls-cert", identity.certificateFile, "--tls-key", identity.keyFile,
            ])
            try await server.start()
            let (plainAddress, address) = (await plain.address, await server.address)
            let missing = "\(self.directory.path)/missing.pem"
            let empty = "\(self.directory.path)/empty.pem"
            try Data().write(to: URL(filePath: empty))
            let cases: [(arguments: [String], status: Int32, words: [String])] = [
                (["--server", plainAddress, "--tls"], 69, ["\(plainAddress) does not speak TLS", "Leave --tls"]),
                (["--server", "nests://\(plainAddress)"], 69, ["\(plainAddress) does not speak TLS"]),
                (["--server", address], 69, ["\(address) speaks only TLS", "Use --tls"]),
                (["--server", address, "--tls"], 77, ["not signed by an authority", "--tls-ca FILE"]),
                (["--server", address, "--tls-ca", other.file], 77, ["not signed by an authority", "--tls-ca FILE"]),
                (
                    ["--server", address, "--tls-ca", authority.file], 77,
                    ["is for nest.lab, not for '127.0.0.1'", "--tls-server-name nest.lab"]
                ),
                (["--server", address, "--tls-ca", missing], 78, ["there is no file \(missing)"]),
                (["--server", address, "--tls-ca", empty], 78, ["\(empty) contains no certificate in PEM"]),
                (
                    ["--server", address, "--tls-ca", self.directory.path], 78,
                    ["cannot read \(self.directory.path): Is a directory"]
                ),
            ]
            for (arguments, status, words) in cases {
                let result = try await self.user("").run(["ping"] + arguments)
                #expect(result.status == status, "\(result.report)")
                for text in words { #expect(result.errors.contains(text), "\(result.report)") }
                #expect(!result.errors.contains("Start it"), "\(result.report)")
            }
            // The options are for the server of the command, so they are no advice for another one.
            let copied = try await self.run("cp", "1", "1@\(address)", "--server", plainAddress)
            #expect(copied.errors.contains("\(address) speaks only TLS"), "\(copied.report)")
            let advice = "'nestc context set NAME --server \(address) --tls-ca FILE', and write 1@NAME"
            #expect(copied.errors.contains(advice) && !copied.errors.contains("Use --tls"), "\(copied.report)")
            let right = try await self.run(
                "ping",
                "--quiet",
                "--server",
                "nests://\(address)",
                "--tls-ca",
                authority.file,
                "--tls-server-name",
                "nest.lab"
            )
            #expect(right.status == 0, "\(right.report)")
        }

        /// A program that says something else is not a nest server; nestc does not advise to start one.
        @Test func anotherProgramIsNotANestServer() async throws {
            let server = ServerProcess(arguments: ["--metrics-port", "0"])
            try await server.start()
            let process = try #require(await server.process)
            try await process.waitForErrors("metrics.listening")
            let line = try #require(process.errors.split(separator: "\n").first { $0.contains("metrics.listening") })
            let address = try #require(line.firstMatch(of: /address=([0-9.:]+)/)?.1)
            let result = try await self.run("ping", "--server", String(address), "--timeout", "2")
            #expect(result.status == 69 || result.status == 76, "\(result.report)")
            #expect(
                result.errors.contains("not a nest server") || result.errors.contains("may not be a nest server"),
                "\(result.report)"
            )
            #expect(!result.errors.contains("Start it"), "\(result.report)")
        }
    }
}
