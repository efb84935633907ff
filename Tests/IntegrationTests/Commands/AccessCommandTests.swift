import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Tokens, TLS and contexts on the command line.
    @Suite struct AccessCommands {
        private func nestd(_ arguments: String...) async throws -> (
            end: ChildProcess.End, output: String, errors: String
        ) {
            let process = try ChildProcess(Program.nestd, arguments)
            let end = try await process.waitForEnd()
            return (end, process.output, process.errors)
        }

        private func write(_ text: String, to path: String, mode: Int = 0o600) throws {
            try Data(text.utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }

        private func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }

        /// A configuration that exposes the server by accident is refused before the server listens.
        @Test func aNonLoopbackAddressNeedsTLSAndTokens() async throws {
            let directory = TemporaryDirectory()
            let authority = try TestAuthority("authority", in: directory)
            let identity = try authority.identity("server")
            let tls = ["--tls-cert", identity.certificateFile, "--tls-key", identity.keyFile]
            let store = ["--port", "0", "--store", "\(directory.path)/nest.sqlite"]
            for host in ["0.0.0.0", "::", "192.0.2.1", "example.org"] {
                for arguments in [[], ["--auth", "required"], tls + ["--auth", "none"]] {
                    let process = try ChildProcess(Program.nestd, ["--host", host] + store + arguments)
                    let end = try await process.waitForEnd()
                    #expect(end == .exit(78), "\(host) \(arguments)")
                    let refusal = "refused: other machines can reach \(host), and"
                    #expect(process.errors.contains(refusal), "\(process.errors)")
                    #expect(process.output == "")
                }
            }
            #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/nest.sqlite"))
            #expect(try await self.nestd("--tls-cert", identity.certificateFile).end == .exit(78))
            let bad = try await self.nestd(
                "--port",
                "0",
                "--memory",
                "--tls-cert",
                identity.keyFile,
                "--tls-key",
                identity.keyFile
            )
            #expect(bad.end == .exit(78), "\(bad)")
            let checked = try await self.nestd(
                "--check-config",
                "--tls-cert",
                identity.certificateFile,
                "--tls-key",
                authority.file
            )
            #expect(checked.end == .exit(78) && checked.errors.contains(authority.file), "\(checked)")
        }

        /// A new store is readable only by its owner, whatever the umask: it holds token hashes and data.
        @Test func aNewStoreIsReadableOnlyByItsOwner() async throws {
            let directory = TemporaryDirectory()
            let path = "\(directory.path)/nest.sqlite"
            let made = try await self.nestd("token", "create", "me", "--store", path)
            #expect(made.end == .exit(0) && made.errors.contains("there was no store \(path)"), "\(made)")
            for suffix in ["", ".lock"] { #expect(try self.mode(path + suffix) == 0o600) }
            let again = try await self.nestd("token", "create", "other", "--store", path)
            #expect(again.end == .exit(0) && again.errors == "", "\(again)")
        }

        /// The help and the faults of 'token create' are in the user's words.
        @Test func creatingATokenIsExplainedInWords() async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            let help = try await user.output("token", "create", "--help")
            #expect(help.contains("(default: write)") && !help.contains("default: 2"), "\(help)")
            let wrong = try await user.run("token", "create", "x", "--root", "1", "--relationship", "parent")
            #expect(wrong.status == 64, "\(wrong.report)")
            #expect(
                wrong.errors.contains("Item.parent does not lead to the objects below it: use --relationship with"),
                "\(wrong.report)"
            )
        }

        @Test func revokingAnUnknownTokenIsRefused() async throws {
            let directory = TemporaryDirectory()
            let path = "\(directory.path)/nest.sqlite"
            #expect(try await self.nestd("token", "create", "me", "--store", path).end == .exit(0))
            let unknown = try await self.nestd("token", "revoke", "9", "--store", path)
            #expect(unknown.end == .exit(65), "\(unknown)")
            #expect(unknown.errors.hasPrefix("nestd: there is no token 9"), "\(unknown)")
            #expect(try await self.nestd("token", "list", "--store", path).output.contains("me"))
        }

        @Test func theFirstTokenIsCreatedOfflineAndTheOthersOnline() async throws {
            let server = ServerProcess()
            let directory = server.directory
            let admin = "\(directory.path)/admin.token"
            let created = try await self.nestd("token", "create", "me", "--store", server.storePath)
            #expect(created.end == .exit(0), "\(created)")
            try self.write(created.output, to: admin)
            #expect(
                try await self.nestd("token", "create", "x", "--role", "read", "--store", "\(directory.path)/new").end
                    == .exit(65)
            )

            try await server.start()
            #expect(try await self.nestd("token", "list", "--store", server.storePath).end == .exit(75))
            let user = await CommandLineUser(server)
            let refused = try await user.run("add", "Milk")
            #expect(refused.status == 77 && refused.errors.contains("UNAUTHENTICATED"), "\(refused.report)")

            #expect(try await user.output("--token-file", admin, "add", "Milk", "Bread") == "2\n3\n")
            let guest = "\(directory.path)/guest.token"
            try await user.output(
                "token",
                "create",
                "guest",
                "--root",
                "2",
                "-o",
                guest,
                "--quiet",
                "--token-file",
                admin
            )
            #expect(try self.mode(guest) == 0o600)
            let again = try await user.run("token", "create", "guest", "-o", guest, "--token-file", admin)
            #expect(again.status == 78, "\(again.report)")
            let reader = try await user.output(
                "token",
                "create",
                "r",
                "--role",
                "read",
                "--quiet",
                "--token-file",
                admin
            )
            let read = "\(directory.path)/read.token"
            try self.write(reader, to: read)

            #expect(try await user.run("show", "3", "--token-file", guest).status == 1)
            #expect(try await user.output("show", "2", "--token-file", guest).contains("Milk"))
            // Without an id, commands start at the root of the confined token.
            #expect(try await user.output("add", "Skimmed", "--token-file", guest) == "4\n")
            #expect(try await user.output("ls", "--token-file", guest).contains("Skimmed"))
            #expect(try await user.output("tree", "--token-file", guest) == "Milk  #2\n  Skimmed  #4\n")
            let write = try await user.run("add", "Eggs", "--token-file", read)
            #expect(write.status == 77 && write.errors.contains("NOT_PERMITTED"), "\(write.report)")

            let list = try await user.output("token", "list", "--json", "--token-file", admin)
            #expect(list.split(separator: "\n").count == 3)
            #expect(list.contains("\"name\":\"guest\",\"role\":\"write\",\"root\":2"))
            try await user.output("token", "revoke", "2", "--token-file", admin)
            #expect(try await user.run("ls", "--parent", "2", "--token-file", guest).status == 77)
            let last = try await user.run("token", "revoke", "1", "--token-file", admin)
            #expect(last.status == 1, "\(last.report)")

            // The server's log contains no secret, and no option accepts one.
            let process = try #require(await server.process)
            let digits = created.output.split(separator: "_").last.map { $0.prefix(64) } ?? ""
            #expect(digits.count == 64 && !process.errors.contains(digits))
            #expect(process.errors.contains("login.refused") && process.errors.contains("token.revoked"))
            #expect(try await user.run("ls", "--token", "x").status == 64)
            try await server.terminate()
            let offline = try await self.nestd("token", "list", "--store", server.storePath)
            #expect(offline.output == "1\tme\tadmin\t\tme\tnever\n3\tr\tread\t\tr\tnever\n", "\(offline)")
        }

        /// History, changes, clients and undo name the user of a token; token list shows its expiry.
        @Test func tokensHaveUsersAndExpiries() async throws {
            let server = try await ServerProcess.started()
            let directory = server.directory.path
            let user = await CommandLineUser(server)
            let (admin, ann) = ("\(directory)/admin.token", "\(directory)/ann.token")
            try await user.output("token", "create", "me", "--role", "admin", "-o", admin, "-q")
            let made = try await user.output(
                ["token", "create", "phone", "--user", "Ann\u{1b}[2J\u{200b}", "--expires", "30d", "-o", ann, "--json"]
                    + ["--token-file", admin]
            )
            #expect(made.contains(#""user":"Ann\u001b[2J"#) && made.contains(#""expires":"20"#), "\(made)")
            #expect(try await user.output("add", "Milk", "--token-file", ann) == "2\n")
            try await user.output("set", "2", "title=Oat milk", "--token-file", admin)
            // A terminal can show every label, and no label can control it.
            let label = #"Ann\u{1b}[2J"# + "\u{fffd}"
            let history = try await user.output("history", "--all", "--token-file", admin)
            #expect(history.contains(" \(label)\tadd item") && history.contains("\tmine me\tedit"), "\(history)")
            let json = try await user.output("history", "--all", "--limit", "1", "--json", "--token-file", admin)
            #expect(json.contains(#""user":"me","userClaimed":false"#), "\(json)")
            let changes = try await user.output("changes", "--since", "0", "--limit", "1", "--token-file", admin)
            #expect(changes.contains(" \(label)\tadd item"), "\(changes)")
            let clients = try await user.output("clients", "--json", "--token-file", admin)
            #expect(clients.contains(#""user":"me","userClaimed":false"#), "\(clients)")
            let undo = try await user.run("undo", "--force", "--token-file", ann)
            #expect(undo.status == 0 && undo.errors.contains(" me in revision 2"), "\(undo.report)")
            let list = try await user.output("token", "list", "--token-file", admin)
            #expect(list.contains(label) && list.contains("never"), "\(list)")
            // Before the command's name it would be the caller.
            for words in [
                ["--user", "Ann", "token", "create", "x"], ["--json", "--user=Ann", "token", "create", "x"],
                ["token", "--user", "Ann", "create", "x"],
            ] {
                let misplaced = try await user.run(words + ["--token-file", admin])
                #expect(misplaced.status == 64 && misplaced.errors.contains("put it there"), "\(misplaced.report)")
            }
            for expires in ["0d", "1970-01-01", "soon", "9999999w", "-1d", ""] {
                let wrong = try await user.run(
                    ["token", "create", "x", "--expires=\(expires)", "--token-file", admin]
                )
                #expect(wrong.status == 64 && wrong.errors.contains("--expires"), "\(wrong.report)")
            }
            let follower = try user.start(
                ["subscribe", "--parent", "1", "--authors", "--json", "--count", "2", "--token-file", admin]
            )
            _ = try await follower.lines(atLeast: 1)
            try await user.output("add", "Bread", "--token-file", ann)
            let lines = try await follower.lines(atLeast: 2)
            #expect(lines[1].contains(#""authors":[{"revision":"#) && lines[1].contains(#""user":"Ann\u001b[2J"#))
            try await server.terminate()
            let expired = try await self.nestd(
                "token",
                "create",
                "z",
                "--expires",
                "1970-01-01",
                "--store",
                server.storePath
            )
            #expect(expired.end == .exit(64) && expired.errors.contains("--expires"), "\(expired)")
            let offline = try await self.nestd("token", "list", "--store", server.storePath)
            #expect(
                offline.output.hasPrefix("1\tme\tadmin\t\tme\tnever\n2\tphone\twrite\t\tAnn?[2J?\t20"),
                "\(offline)"
            )
        }

        /// Without tokens a user is what the client says, and is marked as that.
        @Test func aUserWithoutATokenIsAClaim() async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            try await user.output("add", "a", "--user", "Ann")
            let variable = try await user.shell("NEST_USER=Bob nestc add b")
            #expect(variable.status == 0, "\(variable.report)")
            let both = try await user.shell("NEST_USER=Bob nestc --user Cy add c")
            #expect(both.status == 0, "\(both.report)")
            let group = try await user.shell("nestc --user Dan group g -- nestc add d")
            #expect(group.status == 0, "\(group.report)")
            let context = try await user.shell(
                "NEST_SERVER= nestc context set here --server \(await server.address) --user Eve "
                    + "&& NEST_SERVER= nestc add e && NEST_SERVER= nestc context show"
            )
            #expect(context.status == 0 && context.output.contains("user\tEve"), "\(context.report)")
            try await user.output("add", "f")
            let history = try await user.output("history")
            let whose = history.split(separator: "\n").map { $0.split(separator: "\t")[2] }
            #expect(whose == ["mine", "mine ~Eve", "mine ~Dan", "mine ~Cy", "mine ~Bob", "mine ~Ann"])
            let json = try await user.output("history", "--json")
            #expect(
                json.contains(#""user":"Ann","userClaimed":true"#) && json.contains(#""user":null,"userClaimed":false"#)
            )
            let clients = try await user.output("clients", "--user", "Ann")
            #expect(clients.contains("~Ann"), "\(clients)")
            let long = try await user.run("ls", "--user", String(repeating: "x", count: 257))
            #expect(long.status == 64 && long.errors.contains("at most 256 bytes"), "\(long.report)")
        }

        /// Commands refuse a token file that other users can read.
        @Test func filesWithSecretsMustBePrivate() async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            let path = "\(server.directory.path)/x.token"
            for mode in [0o644, 0o640, 0o604, 0o660] {
                try self.write("nest_1_\(String(repeating: "0", count: 64))\n", to: path, mode: mode)
                let result = try await user.run("ping", "--token-file", path)
                #expect(result.status == 78 && result.errors.contains("chmod 600"), "\(result.report)")
            }
            try self.write("something else", to: path)
            #expect(try await user.run("ping", "--token-file", path).status == 78)
            #expect(try await user.run("ping", "--token-file", "\(path).missing").status == 78)
        }

        @Test func contextsAreStoredAndSelected() async throws {
            let server = try await ServerProcess.started()
            let address = await server.address
            var environment = await CommandLineUser(server).environment
            environment["NEST_SERVER"] = ""
            environment["XDG_CONFIG_HOME"] = "\(server.directory.path)/config"
            func nestc(_ arguments: String..., with more: [String: String] = [:]) async throws -> CommandLineUser.Result
            {
                try await CommandLineUser.Result(
                    ChildProcess(Program.nestc, arguments, environment: environment.merging(more) { $1 })
                )
            }
            let path = "\(server.directory.path)/config/nest/config"
            #expect(try await nestc("context", "list").output == "")
            #expect(try await nestc("context", "set", "home", "--server", address).status == 0)
            #expect(try await nestc("context", "set", "away", "--server", "127.0.0.1:1", "--tls").status == 0)
            #expect(try self.mode(path) == 0o600)
            #expect(try await nestc("ping", "--quiet").status == 0)
            #expect(try await nestc("--context", "away", "ping").status == 69)
            #expect(try await nestc("ping", with: ["NEST_CONTEXT": "away"]).status == 69)
            #expect(try await nestc("context", "use", "away").status == 0)
            #expect(try await nestc("ping").status == 69)
            #expect(try await nestc("ping", "--server", address, "--quiet").status == 0)
            #expect(try await nestc("ping", "--server", address, "--context", "home").status == 64)
            #expect(
                try await nestc("context", "list").output
                    == "* away\t127.0.0.1:1\ttls\tno token\n  home\t\(address)\tplain\tno token\n"
            )
            #expect(try await nestc("context", "show", "--json").output.contains("\"tls\":true"))
            #expect(try await nestc("context", "delete", "away").status == 0)
            #expect(try await nestc("context", "show", "away").status == 78)
            for name in ["", "../x", "a b"] {
                #expect(try await nestc("context", "set", name, "--server", address).status == 64, "\(name)")
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            let open = try await nestc("context", "list")
            #expect(open.status == 78 && open.errors.contains("chmod 600"), "\(open.report)")
        }

        /// On SIGHUP the server loads a valid new certificate, and otherwise keeps the old one.
        @Test func certificatesAreReloadedOnSIGHUP() async throws {
            let directory = TemporaryDirectory()
            let authority = try TestAuthority("authority", in: directory)
            let other = try TestAuthority("other", in: directory)
            let identity = try authority.identity("server", host: "127.0.0.1")
            let server = ServerProcess(arguments: [
                "--tls-cert", identity.certificateFile, "--tls-key", identity.keyFile,
            ])
            try await server.start()
            let user = await CommandLineUser(server)
            #expect(try await user.run("ping", "--quiet", "--tls-ca", authority.file).status == 0)
            #expect(try await user.run("ping", "--tls-ca", other.file).status == 77)
            #expect(try await user.run("ping", "--tls").status == 77)
            // Without TLS the server does not answer, and nestc suggests --tls.
            let plain = try await user.run("ping")
            #expect(plain.status != 0)
            #expect(plain.errors.contains("--tls"), "\(plain)")

            let process = try #require(await server.process)
            try self.write("no certificate", to: identity.certificateFile)
            await process.send(signal: SIGHUP)
            try await process.waitForErrors("tls.kept")
            #expect(try await user.run("ping", "--quiet", "--tls-ca", authority.file).status == 0)
            let renewed = try other.identity("renewed", host: "127.0.0.1")
            for (from, to) in [
                (renewed.certificateFile, identity.certificateFile), (renewed.keyFile, identity.keyFile),
            ] {
                try Data(contentsOf: URL(filePath: from)).write(to: URL(filePath: to))
            }
            await process.send(signal: SIGHUP)
            try await process.waitForErrors("tls.reloaded")
            #expect(try await user.run("ping", "--quiet", "--tls-ca", other.file).status == 0)
            try await server.terminate()
        }
    }
}
