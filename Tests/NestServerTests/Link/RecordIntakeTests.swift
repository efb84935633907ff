import NIOConcurrencyHelpers
import NestEngine
import NestModel
import NestStore
import Testing

@testable import NestServer

@Suite struct RecordIntakeTests {
    private let given = NIOLockedValueBox<[[Int64]]>([])

    private func intake() -> RecordIntake {
        RecordIntake(at: Self.place(10)) { [given] entries in
            given.withLockedValue { $0.append(entries.map(\.position.position)) }
        }
    }

    private static func place(_ position: Int64) -> LogPosition { LogPosition(position: position, chain: .empty) }

    private static func entry(_ position: Int64, _ byteCount: Int = 1) -> LogEntry {
        LogEntry(position: Self.place(position), bytes: LogBytes([UInt8](repeating: 0, count: byteCount)))
    }

    private var taken: [[Int64]] { self.given.withLockedValue { $0 } }

    /// What arrives while the engine works is its next input.
    @Test func theEngineGetsOneInputAtATime() {
        let intake = self.intake()
        #expect(intake.begin() == Self.place(10))
        #expect(intake.add([Self.entry(11)]))
        #expect(intake.add([Self.entry(12)]))
        #expect(intake.add([Self.entry(13)]))
        #expect(self.taken == [[11]])
        _ = intake.applied(Self.place(11))
        #expect(self.taken == [[11], [12, 13]])
        // The rest came from the log itself.
        _ = intake.add([Self.entry(14), Self.entry(15)])
        _ = intake.applied(Self.place(14))
        #expect(self.taken == [[11], [12, 13], [15]])
        _ = intake.add([Self.entry(16)])
        _ = intake.applied(Self.place(20))
        #expect(self.taken == [[11], [12, 13], [15]])
        #expect(intake.position == Self.place(20))
    }

    /// Records behind those that the engine could not apply are dropped until the link asks for them again.
    @Test func nothingIsGivenBehindAGap() {
        let intake = self.intake()
        #expect(intake.add([Self.entry(11)]))
        _ = intake.begin()
        _ = intake.add([Self.entry(11)])
        _ = intake.add([Self.entry(12)])
        intake.clear()
        _ = intake.add([Self.entry(13)])
        _ = intake.applied(Self.place(10))
        #expect(self.taken == [[11]])
        #expect(intake.begin() == Self.place(10))
        _ = intake.add([Self.entry(11), Self.entry(12)])
        #expect(self.taken == [[11], [11, 12]])
    }

    /// A node whose engine is slow does not read on.
    @Test func theLinkIsHeldWhenTooMuchWaits() {
        let intake = self.intake()
        _ = intake.begin()
        _ = intake.add([Self.entry(11)])
        #expect(!intake.add([Self.entry(12, ReplicaMachine.unappliedBytesMax)]))
        #expect(intake.applied(Self.place(11)))
        #expect(!intake.applied(Self.place(12)))
    }
}
