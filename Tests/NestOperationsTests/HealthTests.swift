import NIOConcurrencyHelpers
import NIOCore
import NestModel
import NestOperations
import NestTestSupport
import ServiceLifecycle
import Testing

extension SocketTests {
    /// The health pages in each state, and the heartbeat.
    struct HealthTests {
        /// Runs `body` with the port of a listener that serves the pages.
        private func withPages(
            _ board: HealthBoard,
            engine: @escaping @Sendable (@escaping @Sendable ([MetricFamily]) -> Void) -> Void = { $0([]) },
            _ body: (Int) throws -> Void
        ) async throws {
            let listener = try await OperationsListener.bind(port: 0, board: board) {
                [MetricFamily("nest_here", .gauge, help: "Here.", value: 1)]
            } engine: {
                engine($0)
            }
            let group = ServiceGroup(services: [listener], logger: LogLines().logger)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                try body(listener.port)
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }

        private func expect(
            _ expected: String,
            of page: String,
            _ port: Int,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let answer = try PlainHTTP.get("/\(page)", port: port)
            #expect("\(answer.status) \(answer.body)" == expected, sourceLocation: sourceLocation)
        }

        @Test func healthPagesFollowTheServersState() async throws {
            let board = HealthBoard()
            try await self.withPages(board) { port in
                try self.expect("200 alive\n", of: "livez", port)
                try self.expect("503 starting\n", of: "readyz", port)
                board.set(.ready)
                try self.expect("200 alive\n", of: "livez", port)
                try self.expect("200 ready\n", of: "readyz", port)
                board.set(.draining)
                try self.expect("200 alive\n", of: "livez", port)
                try self.expect("503 draining\n", of: "readyz", port)
                // A draining server cannot become ready again.
                board.set(.ready)
                try self.expect("503 draining\n", of: "readyz", port)
                board.set(.failed("the disk is gone"))
                try self.expect("503 failed: the disk is gone\n", of: "livez", port)
                try self.expect("503 failed: the disk is gone\n", of: "readyz", port)
                board.set(.draining)
                try self.expect("503 failed: the disk is gone\n", of: "livez", port)
            }
        }

        @Test func otherPagesAndMethodsAreRefused() async throws {
            try await self.withPages(HealthBoard()) { port in
                #expect(try PlainHTTP.get("/", port: port).status == 404)
                #expect(try PlainHTTP.get("/metricsx", port: port).status == 404)
                for method in ["POST", "PUT", "DELETE"] {
                    let answer = try PlainHTTP.get("/metrics", port: port, method: method)
                    #expect(answer.status == 405 && answer.headers["allow"] == "GET, HEAD")
                }
                let head = try PlainHTTP.get("/livez?verbose", port: port, method: "HEAD")
                #expect(head.status == 200 && head.body == "" && head.headers["content-length"] == "6")
            }
        }

        @Test func aScrapeReportsTheEngineOrThatItDoesNotAnswer() async throws {
            let statistics = [Statistic(name: "writes", value: 3), Statistic(name: "views", value: 4)]
            try await self.withPages(HealthBoard()) { answer in
                answer(EngineMetrics.families(statistics))
            } _: { port in
                let answer = try PlainHTTP.get("/metrics", port: port)
                #expect(answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
                let scraped = try ScrapedMetrics(answer.body)
                #expect(
                    scraped.values == [
                        "nest_here": 1, "nest_engine_answers": 1, "nest_writes_total": 3, "nest_views": 4,
                    ]
                )
            }
            try await self.withPages(HealthBoard()) { _ in
            } _: { port in
                let scraped = try ScrapedMetrics(try PlainHTTP.get("/metrics", port: port).body)
                #expect(scraped.values == ["nest_here": 1, "nest_engine_answers": 0])
            }
        }

        /// The heartbeat notifies the watchdog only after the engine answered a beat.
        @Test func theWatchdogIsNotifiedOnlyOfAnsweredBeats() async throws {
            let socket = try DatagramSocket(isAbstract: true)
            let notifier = try #require(ServiceNotifier(environment: ["NOTIFY_SOCKET": socket.name]))
            let board = HealthBoard()
            let held = NIOLockedValueBox<[@Sendable () -> Void]>([])
            let beats = AsyncStream.makeStream(of: Void.self)
            let heartbeat = Heartbeat(board: board, notifier: notifier, watchdogInterval: .milliseconds(30)) {
                answered in
                held.withLockedValue { $0.append(answered) }
                beats.continuation.yield()
            }
            board.set(.ready)
            // A second heartbeat with the same interval is answered at once, which shows that the interval has passed.
            let passed = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let otherBoard = HealthBoard()
            let other = Heartbeat(board: otherBoard, notifier: nil, watchdogInterval: .milliseconds(30)) { answered in
                answered()
                passed.continuation.yield()
            }
            otherBoard.set(.ready)
            let group = ServiceGroup(services: [heartbeat, other], logger: LogLines().logger)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                var beat = beats.stream.makeAsyncIterator()
                var interval = passed.stream.makeAsyncIterator()
                for _ in 0..<3 {
                    await beat.next()
                    // While a beat is unanswered, the watchdog gets nothing and no other beat begins.
                    for _ in 0..<10 { await interval.next() }
                    #expect(socket.nextAtOnce() == nil)
                    let answers = held.withLockedValue { held in
                        defer { held = [] }
                        return held
                    }
                    #expect(answers.count == 1)
                    for answer in answers { answer() }
                    #expect(socket.next() == "WATCHDOG=1")
                }
                #expect(board.isAlive(at: .now()))
                await beat.next()
                // The fourth beat is never answered.
                #expect(board.isAlive(at: .now()))
                #expect(!board.isAlive(at: .now() + HealthBoard.beatTimeout))
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }
}
