import Foundation
import Logging
import NIOConcurrencyHelpers
import NestClient
import NestModel
import NestProtocol
import NestTestSupport
import Testing

/// The file with the session of a program, without a server.
@Suite struct KeptSessionTests {
    private let directory = TemporaryDirectory()
    private let log = RecordedLog()

    private func place(_ port: Int = 7000, program: String = "shop") -> SessionPlace {
        SessionPlace(in: self.directory.path, program: program, ClientConfiguration(port: port, session: .fresh))
    }

    private func open(_ place: SessionPlace) -> KeptSession { KeptSession(place, logger: self.log.logger) }

    private static func record(_ number: UInt64) -> SessionRecord {
        SessionRecord(session: Identifier128(high: 1, low: number), history: Identifier128(high: 2, low: number))
    }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test func theNextRunReadsWhatThisOneHasKept() throws {
        let place = self.place()
        let first = self.open(place)
        #expect(first.record == nil && first.keeping == .undecided)
        #expect(!FileManager.default.fileExists(atPath: place.directory))
        first.keep(Self.record(1))
        #expect(first.keeping == .kept(path: place.path))
        #expect(try self.mode(place.path) == 0o600 && self.mode(place.directory) == 0o700)
        first.keep(Self.record(2))
        first.release()
        first.keep(Self.record(3))
        #expect(self.open(place).record == Self.record(2))
        #expect(self.log.lines == [])
    }

    @Test func oneClientHasTheFileAtATime() {
        let place = self.place()
        let (first, second) = (self.open(place), self.open(place))
        first.keep(Self.record(1))
        second.keep(Self.record(2))
        #expect(second.keeping == .inUse)
        let third = self.open(place)
        #expect(third.record == nil && third.keeping == .inUse)
        first.release()
        #expect(self.open(place).record == Self.record(1))
        #expect(self.log.lines == [])
    }

    @Test func aFileThatOthersCouldReadBeginsANewSession() throws {
        let place = self.place()
        self.open(place).keep(Self.record(1))
        chmod(place.path, 0o644)
        chmod(place.directory, 0o777)
        let next = self.open(place)
        #expect(next.record == nil)
        #expect(try self.mode(place.path) == 0o600)
        next.keep(Self.record(2))
        next.release()
        #expect(self.open(place).record == Self.record(2))
        #expect(self.log.lines.count == 1 && self.log.lines[0].contains("others could read"))
        // The directory is made private when the next file is made.
        self.open(self.place(1)).keep(Self.record(3))
        #expect(try self.mode(place.directory) == 0o700)
    }

    @Test(arguments: ["", "x", String(repeating: "0", count: 66), String(repeating: "0", count: 4_096)])
    func whatIsNoSessionIsReplaced(_ text: String) throws {
        let place = self.place()
        self.open(place).keep(Self.record(1))
        try text.write(toFile: place.path, atomically: false, encoding: .utf8)
        let next = self.open(place)
        #expect(next.record == nil)
        next.keep(Self.record(2))
        next.release()
        #expect(self.open(place).record == Self.record(2))
    }

    @Test func aPlaceThatCannotBeUsedIsLoggedOnceAndIsNoFailure() throws {
        let place = self.place()
        // A directory and a symbolic link in place of the file, a file in place of the directory.
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: true)
        for _ in 0..<2 {
            guard case .impossible = self.open(place).keeping else {
                Issue.record("a directory is no file")
                return
            }
        }
        try FileManager.default.createSymbolicLink(atPath: self.place(1).path, withDestinationPath: "/dev/null")
        guard case .impossible = self.open(self.place(1)).keeping else {
            Issue.record("a link is no file")
            return
        }
        let other = self.place(program: "other")
        try Data().write(to: URL(filePath: other.directory))
        let kept = self.open(other)
        kept.keep(Self.record(1))
        guard case .impossible(let reason) = kept.keeping else {
            Issue.record("a file is no directory")
            return
        }
        #expect(reason.contains(other.directory))
        #expect(self.log.lines.count == 3)
        for line in self.log.lines {
            #expect(line.hasPrefix("the session ends with this client"))
            #expect(!line.contains(Self.record(1).session.hex))
        }
    }

    @Test func theLeastRecentlyUsedSessionLeavesFirst() throws {
        for port in 1...Limits.keptSessionsMax { self.open(self.place(port)).keep(Self.record(UInt64(port))) }
        for port in 1...Limits.keptSessionsMax {
            let date = Date(timeIntervalSince1970: TimeInterval(1_000 + port))
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: self.place(port).path)
        }
        // The oldest one is in use, and the second one has just been used.
        let held = self.open(self.place(1))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1)],
            ofItemAtPath: self.place(1).path
        )
        self.open(self.place(2)).release()
        self.open(self.place(9_000)).keep(Self.record(0))
        let names = Set(try FileManager.default.contentsOfDirectory(atPath: self.place().directory))
        #expect(names.count == Limits.keptSessionsMax)
        #expect(names.contains(self.place(1).name) && names.contains(self.place(2).name))
        #expect(!names.contains(self.place(3).name) && names.contains(self.place(9_000).name))
        #expect(held.record == Self.record(1))
    }

    /// Of programs that begin at the same time, one keeps its session, and no other writes the file.
    @Test func ofClientsThatBeginTogetherOneHasTheFile() async throws {
        for round in 0..<30 {
            let place = self.place(1 + round % 2, program: "round\(round)")
            let kept = await withTaskGroup(of: (KeptSession, UInt64).self) { group in
                for number in 0..<8 as Range<UInt64> {
                    group.addTask {
                        let session = self.open(place)
                        session.keep(Self.record(number))
                        return (session, number)
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let winners = kept.filter { $0.0.keeping == .kept(path: place.path) }
            #expect(winners.count == 1, "round \(round)")
            for (session, _) in kept { session.release() }
            #expect(self.open(place).record == winners.first.map { Self.record($0.1) })
        }
    }

    @Test func namesKeepServersUsersAndProgramsApart() throws {
        var names: Set<String> = []
        func add(_ configuration: ClientConfiguration, _ program: String = "shop") {
            let place = SessionPlace(in: "/d", program: program, configuration)
            #expect(names.insert(place.path).inserted, "\(place.path)")
            #expect(place.directory.hasPrefix("/d/") && !place.name.contains("/") && !place.name.hasPrefix("."))
            #expect(place.name.utf8.count <= 255 && place.path.split(separator: "/").count == 3, "\(place.path)")
        }
        func configuration(_ servers: String, user: String = "", store: String? = nil) throws -> ClientConfiguration {
            var configuration = ClientConfiguration(try ServerAddresses(servers), session: .fresh)
            configuration.user = user
            configuration.store = store
            return configuration
        }
        add(try configuration("h:1"))
        add(try configuration("h:2"))
        add(try configuration("h:1,h:2"))
        add(try configuration("[::1]:1"))
        add(try configuration("h:1", user: "Ann"))
        add(try configuration("h:1", user: "../Ann"))
        add(try configuration("h:1", user: String(repeating: "A", count: 250)))
        add(try configuration("h:1", user: String(repeating: "A", count: 251)))
        add(try configuration("h:1", store: "Ann"))
        for program in ["other", "..", ".", ".hidden", "a/b", "a b", "é", String(repeating: "p", count: 400)] {
            add(try configuration("h:1"), program)
        }
        for number in [1, 2] {
            var with = try configuration("h:1")
            with.token = try #require(AccessToken(text: "nest_\(number)_" + String(repeating: "0", count: 64)))
            add(with)
        }
        // The order of a list, and an address twice, make no difference.
        let lists = try ["a:1,b:2", "b:2,a:1", "a:1,b:2,a:1"].map {
            SessionPlace(in: "/d", program: "shop", try configuration($0)).name
        }
        #expect(Set(lists) == ["a_1,b_2"])
    }

    @Test func secretsAreNotPrinted() {
        let secret = Identifier128(high: 0x1234_5678_9abc_def0, low: 7)
        let configuration = ClientConfiguration(session: .secret(secret))
        var dumped = "\(configuration) \(String(reflecting: configuration))"
        dump(configuration, to: &dumped)
        dumped += "\(SessionRecord(session: secret, history: secret))"
        dump(SessionRecord(session: secret, history: secret), to: &dumped)
        #expect(!dumped.contains(secret.hex) && !dumped.contains("\(secret.high)"))
        #expect(dumped.contains("secret"))
    }
}

/// The lines that clients log.
final class RecordedLog: Sendable {
    private let recorded = NIOLockedValueBox<[String]>([])
    var lines: [String] { self.recorded.withLockedValue { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(lines: self.recorded) } }

    private struct Handler: LogHandler {
        let lines: NIOLockedValueBox<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) { self.lines.withLockedValue { $0.append("\(event.message)") } }
    }
}
