import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestbench proxy` between `nestc` and a server.
    @Suite struct ProxyCommand {
        private let server: ServerProcess

        init() async throws {
            self.server = try await ServerProcess.started()
        }

        /// Returns a listening proxy and a user that connects through it.
        private func started(_ arguments: [String]) async throws -> (proxy: ChildProcess, user: CommandLineUser) {
            let address = await self.server.address
            let proxy = try ChildProcess(
                Program.nestbench,
                ["proxy", "--listen", "0", "--to", address, "--json"] + arguments
            )
            let line = try await proxy.lines(atLeast: 1)[0]
            let port = try #require(line.firstMatch(of: /"event":"listening","port":([0-9]+)/)).1
            return (proxy, CommandLineUser(server: "127.0.0.1:\(port)", directory: self.server.directory))
        }

        @Test(arguments: [["--resegment", "1"], ["--resegment", "random"], ["--delay", "20ms", "--throttle", "64k"]])
        func everyByteIsForwarded(_ arguments: [String]) async throws {
            let (proxy, user) = try await self.started(arguments)
            let titles = (1...300).map { "row \($0)" }
            let added = try await user.run(["add", "-"], input: Array(titles.joined(separator: "\n").utf8))
            #expect(added.status == 0, "\(added.report)")
            #expect(try await user.output("tree") == titles.enumerated().map { "\($1)  #\($0 + 2)\n" }.joined())
            _ = try await proxy.lines(atLeast: 4)
        }

        @Test func cutAndResetHappenAfterTheGivenByte() async throws {
            for (option, event, bytes) in [("--cut-at", "cut", 100), ("--reset-at", "reset", 33)] {
                let (proxy, user) = try await self.started([option, "\(bytes)", "--direction", "to-client"])
                let listed = try await user.run("ls")
                #expect(listed.status == 69 && listed.errors.contains("CONNECTION_LOST"), "\(listed.report)")
                let lines = try await proxy.lines(atLeast: 5)
                #expect(lines[3].hasSuffix(#""event":"\#(event)","link":1,"direction":"to-client","bytes":\#(bytes)}"#))
                #expect(lines[4].hasSuffix(#""toClient":\#(bytes)}"#), "\(lines)")
            }
        }

        @Test func refusedConnectionsAndBadOptionsAreReported() async throws {
            let (proxy, user) = try await self.started(["--refuse"])
            #expect(try await user.run("ls").status == 69)
            #expect(try await proxy.lines(atLeast: 3)[2].hasSuffix(#""event":"refused"}"#))
            let wrong = [
                ["--delay", "slow"], ["--random", "--cut-at", "3"], ["--script", "1s slow"], ["--resegment", "0"],
                ["--cut-at", "1", "--reset-at", "2"],
            ]
            for arguments in wrong {
                let proxy = try ChildProcess(Program.nestbench, ["proxy"] + arguments)
                try await proxy.wait(forEnd: .exit(64))
            }
            let busy = try ChildProcess(Program.nestbench, ["proxy", "--listen", "\(await self.server.port)"])
            try await busy.wait(forEnd: .exit(69))
            #expect(busy.errors.contains("cannot listen on 127.0.0.1:"))
        }

        /// A subscriber resumes after every reset and ends with the current state.
        @Test func aSubscriberResumesAfterEveryReset() async throws {
            let (proxy, user) = try await self.started(["--reset-at", "2000", "--direction", "to-client"])
            let direct = await CommandLineUser(self.server)
            try await direct.output("add", "A")
            let subscriber = try user.start("subscribe", "--json", "--apply-check", "--until-revision", "21")
            _ = try await subscriber.lines(atLeast: 1)
            let long = String(repeating: ".", count: 300)
            for number in 1...20 { try await direct.output("set", "2", "title=\(number)\(long)") }
            try await subscriber.wait(forEnd: .exit(0))
            let (seen, log) = (subscriber.lines, proxy.output)
            #expect(try #require(seen.last).contains(#""title":"20."#), "\(seen)")
            #expect(seen.contains { $0.contains(#""event":"resumed""#) } && log.contains(#""event":"reset""#), "\(log)")
        }
    }
}
