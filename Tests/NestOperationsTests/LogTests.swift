import Glibc
import Logging
import NIOConcurrencyHelpers
import NestDocuments
import NestOperations
import Testing

/// JSON log lines, lost lines, and changes of the log level while loggers are in use.
@Suite struct LogTests {
    private let lines = NIOLockedValueBox<[[UInt8]]>([])

    private func logger(_ level: LogLevelSwitch) -> Logger {
        let lines = self.lines
        return Logger(label: "test") { _ in
            SwitchedLogHandler(JSONLogHandler { line in lines.withLockedValue { $0.append(line) } }, level)
        }
    }

    private func members(_ line: [UInt8]) throws -> [String: JSONElement] {
        guard case .object(let members) = try JSONElement.parse(line) else { return [:] }
        return Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value) })
    }

    @Test func everyLogEntryIsOneLineOfJSON() throws {
        let evil = "a\nb\"c\\d\u{1b}[31m\u{0}é\u{2028}"
        var logger = self.logger(LogLevelSwitch(.info))
        logger[metadataKey: "connection"] = "c7"
        logger.warning(
            "\(evil)",
            metadata: ["peer": "\(evil)", "list": ["x", "y"], "inner": ["n": .stringConvertible(3)]]
        )
        let line = try #require(self.lines.withLockedValue { $0 }.first)
        // One line without control characters.
        #expect(line.last == 0x0a && line.dropLast().allSatisfy { $0 >= 0x20 && $0 != 0x7f })
        let members = try self.members(line)
        #expect(members.keys.sorted() == ["level", "message", "metadata", "time"])
        #expect(members["level"] == .string("warning"))
        #expect(members["message"] == .string(evil))
        #expect(
            members["metadata"]
                == .object([
                    .init("connection", .string("c7")), .init("inner", .object([.init("n", .string("3"))])),
                    .init("list", .array([.string("x"), .string("y")])), .init("peer", .string(evil)),
                ])
        )
        guard case .string(let time) = members["time"] else { throw Missing() }
        #expect(time.wholeMatch(of: /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil, "\(time)")
    }

    private struct Missing: Error {}

    /// Lines that do not fit into a full log are dropped; the next line that fits is preceded by the number of lost
    /// lines.
    @Test func aFullLogDropsLinesInsteadOfBlocking() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        let gate = LogGate(descriptor: writing)
        let logger = Logger(label: "test") { _ in
            UnblockedLogHandler(
                JSONLogHandler { line in _ = line.withUnsafeBytes { write(writing, $0.baseAddress, $0.count) } },
                gate
            )
        }
        // Many times the capacity of a pipe.
        let count = 2_000
        for number in 0..<count {
            logger.info("n\(number)", metadata: ["filler": "\(String(repeating: ".", count: 200))"])
        }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let held = read(reading, &bytes, bytes.count)
        let before = bytes.prefix(held).split(separator: 0x0a)
        #expect(before.count > 100 && before.count < count)
        logger.info("after")
        let more = read(reading, &bytes, bytes.count)
        let after = bytes.prefix(more).split(separator: 0x0a).map(Array.init)
        #expect(try after.map { try self.members($0)["message"] } == [.string("log.lost"), .string("after")])
        let lost = JSONElement.object([.init("lines", .string("\(count - before.count)"))])
        #expect(try self.members(after[0])["metadata"] == lost)
        close(reading)
        close(writing)
    }

    @Test func theLevelSwitchAppliesToLoggersInUse() {
        let level = LogLevelSwitch(.info)
        let logger = self.logger(level)
        var quiet = logger
        quiet.logLevel = .warning
        func count(_ body: () -> Void) -> Int {
            self.lines.withLockedValue { $0 = [] }
            body()
            return self.lines.withLockedValue { $0.count }
        }
        #expect(count { logger.debug("d") } == 0)
        #expect(count { logger.info("i") } == 1)
        level.level = .debug
        #expect(count { logger.debug("d") } == 1)
        // A logger with its own higher level keeps that level.
        #expect(count { quiet.info("i") } == 0)
        #expect(count { quiet.warning("w") } == 1)
        level.level = .error
        #expect(count { logger.warning("w") } == 0)
        #expect(count { quiet.warning("w") } == 0)
    }
}
