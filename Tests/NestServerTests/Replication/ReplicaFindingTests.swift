import NestModel
import NestServer
import NestStore
import Testing

/// How a node's file fits the log.
@Suite struct ReplicaFindingTests {
    private func chain(_ number: UInt64) -> Chain { Chain(Identifier128(high: 7, low: number)) }

    private func position(_ position: Int64, _ line: UInt64 = 0) -> LogPosition {
        LogPosition(position: position, chain: self.chain(UInt64(position) << 8 | line))
    }

    private func local(_ position: LogPosition) -> LogState {
        LogState(store: 1, position: position, writer: .init(node: Identifier128(high: 1, low: 1), epoch: 1))
    }

    /// `known`: the chain that the log has at the file's position.
    private func finding(
        _ position: LogPosition?,
        head: Int64,
        base: Int64 = 0,
        known: Chain? = nil,
        snapshots: [LogPosition] = []
    ) -> ReplicaFinding {
        let overview = LogOverview(
            head: self.position(head),
            base: base,
            epoch: 1,
            leader: nil,
            isLeaderSessionGone: false,
            doubt: false,
            chainAtPosition: known
        )
        return .of(position.map(self.local), overview, snapshots.map(self.snapshot))
    }

    private func snapshot(_ position: LogPosition) -> LogSnapshot {
        LogSnapshot(
            position: position,
            revision: Revision(1),
            modelHash: 0,
            byteCount: 1,
            checksum: Identifier128(high: 0, low: 0),
            partCount: 1
        )
    }

    private enum Kind: Equatable { case goesOn, joins, diverged }

    private func kind(_ finding: ReplicaFinding) -> Kind {
        switch finding {
        case .goesOn: .goesOn
        case .joins: .joins
        case .diverged: .diverged
        }
    }

    @Test func aFileThatTheLogConfirmsGoesOn() {
        #expect(self.finding(self.position(5), head: 9, known: self.position(5).chain) == .goesOn)
        #expect(self.finding(self.position(9), head: 9, base: 4, known: self.position(9).chain) == .goesOn)
    }

    @Test func aMissingOrOldFileJoins() {
        #expect(self.kind(self.finding(nil, head: 9)) == .joins)
        #expect(self.kind(self.finding(self.position(3), head: 9, base: 4)) == .joins)
    }

    /// Where the log begins, its record is gone; a snapshot of that position still has the chain.
    @Test func aFileAtTheBaseIsComparedWithTheSnapshot() {
        let base = self.position(4)
        #expect(self.finding(base, head: 9, base: 4, snapshots: [self.position(7), base]) == .goesOn)
        #expect(self.kind(self.finding(base, head: 9, base: 4)) == .joins)
        let other = self.finding(self.position(4, 1), head: 9, base: 4, snapshots: [base])
        #expect(self.kind(other) == .diverged)
    }

    @Test func aFileWithAnotherLineHasDiverged() {
        #expect(self.kind(self.finding(self.position(5), head: 9, known: self.position(5, 1).chain)) == .diverged)
        // The log must have the record, and has it not.
        #expect(self.kind(self.finding(self.position(5), head: 9)) == .diverged)
        #expect(self.kind(self.finding(self.position(10), head: 9)) == .diverged)
    }

    // MARK: Snapshots

    private func finding(ofSnapshotAt position: LogPosition, base: Int64, known: Chain?) -> SnapshotFinding {
        let overview = LogOverview(
            head: self.position(9),
            base: base,
            epoch: 1,
            leader: nil,
            isLeaderSessionGone: false,
            doubt: false,
            chainAtPosition: known
        )
        return .of(self.snapshot(position), overview)
    }

    @Test func onlyTheLogsRecordsConfirmASnapshot() {
        let place = self.position(5)
        #expect(self.finding(ofSnapshotAt: place, base: 0, known: place.chain) == .confirmed)
        #expect(self.finding(ofSnapshotAt: place, base: 0, known: self.position(5, 1).chain) == .stale)
        // The base was raised through it.
        #expect(self.finding(ofSnapshotAt: place, base: 5, known: nil) == .confirmed)
        // What follows is gone.
        #expect(self.finding(ofSnapshotAt: place, base: 6, known: nil) == .stale)
        // A migration adds the snapshot before its record.
        #expect(self.finding(ofSnapshotAt: self.position(10), base: 0, known: nil) == .awaitsRecord)
    }
}
