import Foundation
import NIOConcurrencyHelpers
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Configuration, metrics, health, systemd, logs and client administration of a running nestd.
    @Suite struct Operating {
        private let directory = TemporaryDirectory()

        private var configPath: String { "\(self.directory.path)/nestd.json" }

        private func write(_ config: String) throws {
            try Data(config.utf8).write(to: URL(filePath: self.configPath))
        }

        private func run(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> (
            end: ChildProcess.End, output: String, errors: String
        ) {
            let process = try ChildProcess(Program.nestd, arguments, environment: environment)
            let end = try await process.waitForEnd()
            return (end, process.output, process.errors)
        }

        // MARK: Configuration

        @Test func allConfigurationFaultsAreReported() async throws {
            try self.write(#"{"prot": 1, "log": {"level": "loud"}}"#)
            let bad = try await self.run(["--config", self.configPath, "--check-config"], ["NESTD_HOTS": "x"])
            #expect(bad.end == .exit(78), "\(bad)")
            #expect(bad.errors.contains("there is no setting prot; did you mean port?"), "\(bad)")
            #expect(bad.errors.contains("there is no setting NESTD_HOTS; did you mean NESTD_HOST?"), "\(bad)")
            #expect(bad.errors.contains("log.level must be one of trace, debug"), "\(bad)")
            // Without `--check-config` too: a server with an invalid configuration does not start.
            #expect(try await self.run(["--config", self.configPath, "--memory", "--port", "0"]).end == .exit(78))

            try self.write(#"{"model": "/nowhere/model.json", "memory": true}"#)
            let model = try await self.run(["--config", self.configPath, "--check-config"])
            #expect(model.end == .exit(78) && model.errors.contains("/nowhere/model.json"), "\(model)")
            try self.write(#"{"host": "0.0.0.0", "memory": true}"#)
            let host = try await self.run(["--config", self.configPath, "--check-config"])
            #expect(host.end == .exit(78) && host.errors.contains("--insecure"), "\(host)")
            let missing = try await self.run(["--config", "/nowhere/nestd.json", "--check-config"])
            #expect(
                missing.end == .exit(78) && missing.errors == "nestd: /nowhere/nestd.json: there is no such file\n",
                "\(missing)"
            )

            try self.write(#"{"store": "/nowhere/nest.sqlite"}"#)
            let good = try await self.run(["--config", self.configPath, "--check-config"])
            #expect(good.end == .exit(0) && good.output == "the configuration is good\n", "\(good)")
        }

        @Test func thePrintedConfigurationRoundTrips() async throws {
            try self.write(#"{"port": 7100, "log": {"level": "error", "format": "json"}, "metrics": {"port": 0}}"#)
            let environment = ["NESTD_LOG_LEVEL": "debug", "NESTD_LIMITS_CONNECTIONS": "12"]
            let first = try await self.run(
                ["--config", self.configPath, "--print-config", "--port", "7200"],
                environment
            )
            #expect(first.end == .exit(0), "\(first)")
            for part in [#""port": 7200"#, #""level": "debug""#, #""format": "json""#, #""connections": 12"#] {
                #expect(first.output.contains(part), "\(first.output)")
            }
            try self.write(first.output)
            let second = try await self.run(["--print-config"], ["NESTD_CONFIG": self.configPath])
            #expect(second.output == first.output)
        }

        // MARK: Metrics and health

        @Test func metricsUnderLoadAreValidForPrometheus() async throws {
            let server = ServerProcess(arguments: ["--metrics-port", "0"])
            try await server.start()
            let process = try #require(await server.process)
            let port = try self.metricsPort(process)
            #expect(try PlainHTTP.get("/readyz", port: port).status == 200)
            #expect(try PlainHTTP.get("/livez", port: port).status == 200)

            let configuration = await server.configuration()
            try await NestClient.withClient(configuration) { client in
                _ = try await client.transaction(
                    WriteTransaction(name: "add", mutations: [Item.insert("first", under: Item.root)])
                )
                let first = try ScrapedMetrics(try PlainHTTP.get("/metrics", port: port).body)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    tasks.addTask {
                        for number in 0..<50 {
                            let insert = Item.insert("number \(number)", under: Item.root)
                            _ = try await client.transaction(WriteTransaction(name: "add", mutations: [insert]))
                        }
                    }
                    tasks.addTask {
                        var last = first
                        for _ in 0..<10 {
                            let next = try ScrapedMetrics(try PlainHTTP.get("/metrics", port: port).body)
                            for (key, value) in last.growing {
                                #expect((next.values[key] ?? -1) >= value, "\(key)")
                            }
                            last = next
                        }
                    }
                    try await tasks.waitForAll()
                }
                // The event loops report their counters once a second.
                try await waitUntil("the counters") {
                    let scraped = try ScrapedMetrics(try PlainHTTP.get("/metrics", port: port).body)
                    return (scraped.values["nest_requests_total"] ?? 0) >= 51
                }
                let scraped = try ScrapedMetrics(try PlainHTTP.get("/metrics", port: port).body)
                let described = scraped.helps.filter { $0.value == "See the source." }
                #expect(described.isEmpty, "without a description: \(described.keys)")
                #expect(scraped.values["nest_writes_total"] == 51)
                #expect(scraped.values["nest_connections"] == 1)
                #expect(scraped.values["nest_ready"] == 1 && scraped.values["nest_engine_answers"] == 1)
                #expect((scraped.values["nest_engine_batch_seconds_count"] ?? 0) >= 1)
                #expect(scraped.values[#"nest_build_info{version="0.1.0"}"#] == 1)
            }
            try await server.terminate()
        }

        private func metricsPort(_ process: ChildProcess) throws -> Int {
            let line = try #require(process.errors.split(separator: "\n").first { $0.contains("metrics.listening") })
            return Int(try #require(line.firstMatch(of: /127\.0\.0\.1:([0-9]+)/)).1)!
        }

        /// The error of a failed start says what is wrong and what to do.
        @Test func aFailedStartReportsTheCauseAndAdvice() async throws {
            let server = ServerProcess(arguments: ["--metrics-port", "0"])
            try await server.start()
            let port = try self.metricsPort(try #require(await server.process))
            let second = try await self.run(["--memory", "--port", "0", "--metrics-port", "\(port)"])
            #expect(second.end == .exit(69), "\(second)")
            #expect(
                second.errors.contains(
                    "on port \(port) for metrics: Address already in use; specify another --metrics-port"
                ),
                "\(second)"
            )
            try await server.terminate()

            let own = try await ServerProcess.started(
                model:
                    #"{"format": "nest-model", "entities": [{"name": "User", "attributes": [{"name": "name", "type": "string"}]}]}"#
            )
            try await own.terminate()
            let forgotten = try await self.run(["--port", "0", "--store", own.storePath])
            #expect(forgotten.end == .exit(78), "\(forgotten)")
            #expect(forgotten.errors.contains("specify another with --model FILE"), "\(forgotten)")
        }

        // MARK: systemd

        @Test(arguments: [true, false])
        func systemdIsNotified(isAbstract: Bool) async throws {
            let socket = try DatagramSocket(isAbstract: isAbstract)
            try self.write("{}")
            let process = try ChildProcess(
                Program.nestd,
                ["--memory", "--port", "0", "--config", self.configPath],
                environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "300000"]
            )
            #expect(try #require(socket.next()).hasPrefix("READY=1\nSTATUS=serving in memory"))
            for _ in 0..<3 { #expect(socket.next() == "WATCHDOG=1") }
            func next() throws -> String {
                while true {
                    let message = try #require(socket.next())
                    if message != "WATCHDOG=1" { return message }
                }
            }
            await process.send(signal: SIGHUP)
            #expect(try next().hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
            #expect(try next() == "READY=1\nSTATUS=serving in memory")
            try self.write("{")
            await process.send(signal: SIGHUP)
            #expect(try next().hasPrefix("RELOADING=1\n"))
            #expect(try next() == "READY=1\nSTATUS=serving in memory; the last reload was refused")
            await process.send(signal: SIGTERM)
            #expect(try next() == "STOPPING=1")
            try await process.wait(forEnd: .exit(0))
        }

        // MARK: SIGHUP

        @Test func theConfigurationIsReloadedUnderLoad() async throws {
            try self.write(#"{"log": {"level": "notice", "format": "json"}}"#)
            let server = ServerProcess(arguments: ["--config", self.configPath])
            try await server.start()
            let process = try #require(await server.process)
            let configuration = await server.configuration()
            var count = 0
            func events(_ message: String) throws -> [JSONValue] {
                try self.log(process).filter { try $0["message"] == .string(message) }
            }
            try await NestClient.withClient(configuration) { client in
                let isDone = NIOLockedValueBox(false)
                let writing = Task {
                    var number = 0
                    while !isDone.withLockedValue({ $0 }) {
                        number += 1
                        let insert = Item.insert("\(number)", under: Item.root)
                        _ = try await client.transaction(WriteTransaction(name: "add", mutations: [insert]))
                    }
                    return number
                }
                for round in 1...10 {
                    // A valid file, then an invalid one: the settings of the valid one stay.
                    let level = round % 2 == 0 ? "notice" : "debug"
                    try self.write(#"{"log": {"level": "\#(level)", "format": "json"}, "model": "model \#(round)"}"#)
                    await process.send(signal: SIGHUP)
                    try await waitUntil("reload \(round)") { try events("config.reloaded").count == round }
                    #expect(try events("config.changed").count == round)
                    #expect(try events("config.needs_restart").count == round)
                    try self.write(#"{"log": {"level": "trace"}, "prot": 1, "limits": {"connections": 0}}"#)
                    await process.send(signal: SIGHUP)
                    try await waitUntil("refusal \(round)") { try events("config.refused").count == 2 * round }
                    #expect(try events("config.changed").count == round)
                }
                isDone.withLockedValue { $0 = true }
                count = try await writing.value
                // No write failed and none is missing.
                #expect(try await client.count(Item.childrenOf(Item.root)) == count)
            }
            let refused = try events("config.refused")
            let faults = try refused.prefix(2).map { try $0["metadata"]["fault"].text }
            #expect(faults[0].contains("did you mean port?") && faults[1].contains("limits.connections must be"))
            try await server.terminate()
        }

        @Test func aReloadedLimitTakesEffect() async throws {
            try self.write("{}")
            let server = ServerProcess(arguments: ["--config", self.configPath])
            try await server.start()
            let process = try #require(await server.process)
            let user = await CommandLineUser(server)
            let other = await NestClient(server.configuration())
            #expect(try await other.ping() > .zero)
            try await user.output("ping", "-q")
            try self.write(#"{"limits": {"connections": 1}}"#)
            await process.send(signal: SIGHUP)
            try await waitUntil("the reload") { process.errors.contains("config.reloaded") }
            let refused = try await user.run("ping", "-q", "--timeout", "2")
            #expect(refused.status != 0, "\(refused.report)")
            // The existing connection stays.
            #expect(try await other.ping() > .zero)
            try self.write(#"{"limits": {"connections": 2}}"#)
            await process.send(signal: SIGHUP)
            try await waitUntil("a free slot") { try await user.run("ping", "-q", "--timeout", "2").status == 0 }
            await other.close()
            try await server.terminate()
        }

        // MARK: The log

        @Test func eachLineOfAJSONLogIsAnObject() async throws {
            let server = ServerProcess(arguments: [
                "--log-format", "json", "--log-level", "trace", "--metrics-port", "0",
            ])
            try await server.start()
            let process = try #require(await server.process)
            let user = await CommandLineUser(server)
            try await user.output("add", "a title\nwith \"quotes\"")
            #expect(try await user.run("rm", "4711").status == 1)
            try await server.terminate()
            let lines = try self.log(process)
            let messages = try lines.map { try $0["message"].text }
            for message in ["server.listening", "metrics.listening", "server.stopping", "server.stopped"] {
                #expect(messages.contains(message), "\(messages)")
            }
            for line in lines {
                #expect(try line["time"].text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil)
                #expect(["trace", "debug", "info", "notice", "warning", "error"].contains(try line["level"].text))
            }
            // The log contains no titles.
            #expect(!process.errors.contains("quotes"))
        }

        private func log(_ process: ChildProcess) throws -> [JSONValue] {
            let text = process.errors
            // The last line may be incomplete.
            return try text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { line in
                try JSONDecoder().decode(JSONValue.self, from: Data(line.utf8))
            }
        }

        // MARK: Clients

        @Test func clientsAreListedAndKicked() async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            let follower = try user.start("subscribe", "--json")
            _ = try await follower.lines(atLeast: 1)
            let object = try await user.output("clients", "--json")
            let clients = try object.split(separator: "\n").map { line in
                try JSONDecoder().decode(JSONValue.self, from: Data(line.utf8))
            }
            #expect(clients.count == 2, "\(object)")
            let first = try #require(clients.first)
            #expect(try first["subscriptions"].int == 1)
            #expect(try first["name"].text == "nestc")
            #expect(try first["address"].text.hasPrefix("127.0.0.1:"))
            #expect(try first["requests"].int >= 1 && first["bytesIn"].int > 0 && first["bytesOut"].int > 0)
            #expect(try first["bytesQueued"].int == 0)
            #expect(try first["connected"].text.hasSuffix("Z"))
            // The list includes the requesting client, with this request in flight.
            #expect(try clients[1]["inFlight"].int == 1)

            let id = try first["id"].text
            let table = try await user.output("clients")
            #expect(table.contains("address") && table.contains("\(id) "), "\(table)")
            let kicked = try await user.run("kick", id)
            #expect(kicked.status == 0 && kicked.errors == "nestc: \(id) is disconnected\n", "\(kicked.report)")
            #expect(try await user.run("kick", id, "-q").status == 1)
            #expect(try await user.run("kick", "x7").status == 64)
            // The kicked client is notified, reconnects with another number, and resumes.
            try await follower.waitForOutput(#""event":"disconnected""#)
            try await follower.waitForOutput(#""event":"resumed""#)
            try await user.output("add", "after")
            try await follower.waitForOutput("after")
            let later = try await user.output("clients")
            #expect(!later.contains("\(id) "), "\(later)")
            await follower.send(signal: SIGINT)
            #expect(try #require(await server.process).errors.contains("client.kicked"))
            try await server.terminate()
        }

        @Test func statPrintsTheRatesOfCounters() async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            let stat = try user.start("stat", "--every", "0.2", "--count", "3", "--json")
            _ = try await stat.lines(atLeast: 1)
            for number in 0..<5 { try await user.output("add", "\(number)") }
            try await stat.wait(forEnd: .exit(0))
            let lines = try stat.lines.map { try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8)) }
            #expect(lines.count == 3)
            #expect(try lines[0]["perSecond"] == .object([:]))
            #expect(try lines[2]["perSecond"].optional("writes") != nil)
            #expect(try lines[2]["perSecond"].optional("revision") == nil)
            let table = try await user.output("stat", "--every", "0.1", "--count", "2")
            #expect(table.contains(/(?m)^writes +5$/) && table.contains(/(?m)^writes +5 +0\.0\/s$/), "\(table)")
            #expect(try await user.run("stat", "--count", "2").status == 64)
            #expect(try await user.run("stat", "--every", "0").status == 64)
            try await server.terminate()
        }
    }
}
