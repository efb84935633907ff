import NestModel
import NestOverlay
import NestTestSupport
import Testing

/// The states of a write that is shown before it is confirmed, one step at a time.
@Suite struct PendingWritesTests {
    private let model: ManagedObjectModel
    private let node: EntityDescription
    private let title: PropertyNumber
    private let view = OptimisticViews.ID(1)

    init() throws {
        self.model = try ModelDraft.tree.compile()
        self.node = try #require(self.model.entities.first { $0.name == "Node" })
        self.title = try #require(self.node.propertyNumber(named: "title"))
    }

    private static func receipt(_ revision: UInt64, isChanged: Bool = true) -> Receipt {
        Receipt(revision: Revision(revision), isChanged: isChanged, name: "")
    }

    private func edit(_ title: String) -> UnconfirmedTransaction {
        let assignment = PropertyAssignment(self.title, .value(.string(title)))
        return UnconfirmedTransaction([.update(.object(ObjectID(1)), values: [assignment])], time: 0)
    }

    private func state(at revision: UInt64, _ title: String) -> OverlayView {
        let request = ObjectFetchRequest(entity: self.node.number, projection: [self.title])
            .canonical(in: self.model).widened(in: self.model)
        let row = Row(id: ObjectID(1), values: [.string(title)])
        let state = SectionedSnapshot(
            revision: Revision(revision),
            projection: request.projection,
            sections: [ResultsSection(key: .string(""), rows: [row])]
        )
        return OverlayView(request: request, state: state)
    }

    private func text(_ views: OptimisticViews) -> AttributeValue? {
        views.shown(self.view)?.state.sections.first?.rows.first?.values.first
    }

    // MARK: A lost connection

    /// Another has changed the row after the write. Laid over that state, the write would show its own value again.
    @Test func nothingIsShownUntilALostAnswerIsHere() {
        var views = OptimisticViews(model: self.model)
        views.took(self.view, self.state(at: 1, "old"))
        let write = views.pending.add(self.edit("mine"))
        views.pending.sent(write, request: 7)
        _ = views.publish()
        #expect(self.text(views) == .string("mine"))
        views.pending.connectionLost()
        #expect(views.pending[write]?.state == .doubtful)
        // Without a connection other lists go on.
        #expect(!views.pending.isRepeating)
        views.pending.sent(write, request: 7)
        views.took(self.view, self.state(at: 9, "theirs"))
        #expect(views.pending.isRepeating)
        #expect(views.publish().shown.isEmpty)
        #expect(self.text(views) == .string("mine"))
        views.pending.answered(write, revision: Revision(5), isChanged: true)
        #expect(!views.pending.isRepeating)
        #expect(views.publish().settled == [write])
        #expect(self.text(views) == .string("theirs"))
        #expect(views.pending.writes.isEmpty)
    }

    @Test func listsWaitForALostAnswerOnlyUntilTheyAreForced() {
        var views = OptimisticViews(model: self.model)
        let write = views.pending.add(self.edit("mine"))
        views.pending.sent(write, request: 1)
        views.pending.connectionLost()
        views.pending.sent(write, request: 1)
        views.took(self.view, self.state(at: 2, "old"))
        #expect(views.publish().shown.isEmpty)
        #expect(views.publish(isForced: true).shown.map(\.id) == [self.view])
        #expect(self.text(views) == .string("mine"))
    }

    @Test func aWriteThatWasNeverSentHoldsNothingBack() {
        var views = OptimisticViews(model: self.model)
        let write = views.pending.add(self.edit("mine"))
        views.pending.connectionLost()
        #expect(views.pending[write]?.state == .queued)
        views.pending.sent(write, request: 1)
        views.took(self.view, self.state(at: 2, "old"))
        #expect(views.publish().shown.count == 1)
    }

    // MARK: What rows say

    @Test func aRowIsQueuedUntilAllItsWritesAreSent() {
        var views = OptimisticViews(model: self.model)
        views.took(self.view, self.state(at: 1, "old"))
        #expect(views.queued(self.view).isEmpty)
        let (one, two) = (views.pending.add(self.edit("1")), views.pending.add(self.edit("2")))
        _ = views.publish()
        #expect(views.queued(self.view) == [ObjectID(1)])
        views.pending.sent(one, request: 1)
        #expect(views.queued(self.view) == [ObjectID(1)])
        views.pending.sent(two, request: 2)
        #expect(views.queued(self.view).isEmpty)
        #expect(views.shown(self.view)?.pending == [ObjectID(1)])
        views.pending.connectionLost()
        // It was sent: only its answer is missing.
        #expect(views.queued(self.view).isEmpty)
    }

    // MARK: Undo

    @Test func onlyAWriteThatWasNotSentIsWithdrawn() {
        var pending = PendingWrites()
        let (one, two) = (pending.add(self.edit("1")), pending.add(self.edit("2")))
        pending.sent(one, request: 1)
        #expect(pending.withdraw(one) == nil)
        // Also if it must be sent again.
        pending.requeue(one)
        #expect(pending.withdraw(one) == nil)
        #expect(pending.withdraw(two)?.id == two)
        #expect(pending.writes.map(\.id) == [one])
    }

    @Test func aRetractedWriteIsShownAgainIfItsUndoIsRefused() throws {
        var pending = PendingWrites()
        let write = pending.add(self.edit("1"))
        pending.sent(write, request: 1)
        let undo = try pending.startUndo()
        #expect(pending.laid(at: Revision(1)).isEmpty)
        pending.undoEnded(undo, nil)
        #expect(pending.laid(at: Revision(1)).map(\.id) == [write])
    }

    /// Else the row of a taken back write would return for a moment.
    @Test func nothingIsShownBetweenAConfirmationAndItsUndo() throws {
        var pending = PendingWrites()
        let write = pending.add(self.edit("1"))
        pending.sent(write, request: 1)
        let undo = try pending.startUndo()
        pending.answered(write, revision: Revision(2), isChanged: true)
        #expect(pending.isTakingBack)
        pending.undoEnded(undo, Self.receipt(3))
        #expect(!pending.isTakingBack)
        // Without a connection the lists do not wait.
        let other = pending.add(self.edit("2"))
        pending.sent(other, request: 2)
        pending.answered(other, revision: Revision(4), isChanged: true)
        guard case .added = pending.undo(isConnected: false) else { throw ProcessFailure("no undo was added") }
        #expect(!pending.isTakingBack)
    }

    @Test func anUndoIsSentBetweenTheWritesThatItWasMadeBetween() throws {
        var pending = PendingWrites()
        let one = pending.add(self.edit("1"))
        pending.sent(one, request: 1)
        let undo = try pending.startUndo()
        let two = pending.add(self.edit("2"))
        #expect(pending.sendableUndo == nil)
        #expect(pending.sendable.map(\.id) == [one])
        pending.named(1, Revision(7))
        #expect(pending.sendableUndo?.id == undo && pending.sendableUndo?.expected == Revision(7))
        #expect(pending.sendable.map(\.id) == [one])
        pending.undoSent(undo)
        #expect(pending.sendableUndo == nil)
        // The server could not carry it out: it is sent again, before what came after it.
        #expect(pending.sendable.map(\.id) == [one])
        pending.undoRequeued(undo)
        #expect(pending.sendableUndo?.id == undo)
        pending.undoSent(undo)
        pending.undoEnded(undo, Self.receipt(8))
        #expect(pending.sendable.map(\.id) == [one, two])
    }

    /// A corrected write that comes in the place of an older one, and an undo of writes that wait, wait for each other.
    @Test func aCorrectedWriteWaitsForAnUndoOnly() throws {
        var pending = PendingWrites()
        let wrong = pending.add(self.edit("0"))
        pending.sent(wrong, request: 1)
        let place = pending.refused(wrong)?.place
        let two = (1..<3).map { pending.add(self.edit("\($0)"), coalescing: "title") }
        let undo = try pending.startUndo()
        let corrected = pending.add(self.edit("4"), place: place)
        #expect(pending.sendable.map(\.id) == two)
        for (number, id) in two.enumerated() {
            pending.sent(id, request: UInt64(2 + number))
            pending.answered(id, revision: Revision(UInt64(7 + number)), isChanged: true)
        }
        pending.undoSent(undo)
        pending.undoEnded(undo, Self.receipt(9))
        #expect(pending.sendable.contains { $0.id == corrected })
    }

    @Test func aRedoWaitsForTheWritesBeforeIt() throws {
        var pending = PendingWrites()
        let one = pending.add(self.edit("1"))
        let redo = pending.redo()
        #expect(pending.sendableUndo == nil)
        pending.sent(one, request: 1)
        #expect(pending.sendableUndo?.id == redo)
        // What is written since has nothing to do with the redo: it is the newest entry of the server.
        pending.undoEnded(redo, Self.receipt(3))
        pending.answered(one, revision: Revision(2), isChanged: true)
        let two = pending.add(self.edit("2"))
        pending.sent(two, request: 2)
        pending.answered(two, revision: Revision(4), isChanged: true)
        #expect(pending.settle(following: Revision(4), all: Revision(4)) == [one, two])
        guard case .added = pending.undo() else { throw ProcessFailure("no undo was added") }
        #expect(pending.undos.last?.expected == nil && pending.sendableUndo != nil)
    }

    @Test func whatLiesBetweenWritesKeepsThemApart() throws {
        var pending = PendingWrites()
        let one = pending.add(self.edit("1"), coalescing: "title")
        let two = pending.add(self.edit("2"))
        for (number, id) in [one, two].enumerated() { pending.sent(id, request: UInt64(number)) }
        _ = try pending.startUndo()
        let three = pending.add(self.edit("3"), coalescing: "title")
        guard case .withdrew(let write) = pending.undo() else { throw ProcessFailure("it was not withdrawn") }
        #expect(write.id == three)
        #expect(pending.laid(at: Revision(1)).map(\.id) == [one])
    }

    @Test func undosKeepTheirOrder() throws {
        var pending = PendingWrites()
        let (one, two) = (pending.add(self.edit("1")), pending.add(self.edit("2")))
        pending.sent(one, request: 1)
        pending.sent(two, request: 2)
        pending.answered(one, revision: Revision(7), isChanged: true)
        let (first, second) = (try pending.startUndo(), try pending.startUndo())
        // What the second takes back is known, but is the newest entry only after the first.
        #expect(pending.sendableUndo == nil)
        pending.answered(two, revision: Revision(8), isChanged: true)
        #expect(pending.sendableUndo?.id == first && pending.sendableUndo?.expected == Revision(8))
        pending.undoSent(first)
        #expect(pending.sendableUndo == nil)
        pending.undoEnded(first, Self.receipt(9))
        #expect(pending.sendableUndo?.id == second && pending.sendableUndo?.expected == Revision(7))
    }

    @Test func writesThatCoalesceAreTakenBackTogether() throws {
        var pending = PendingWrites()
        let other = pending.add(self.edit("0"), coalescing: "title")
        let between = pending.add(self.edit("1"))
        let all = (2..<4).map { pending.add(self.edit("\($0)"), coalescing: "title") }
        for (number, id) in ([other, between] + all).enumerated() { pending.sent(id, request: UInt64(number)) }
        let undo = try pending.startUndo()
        #expect(pending.undos.first?.targets == all)
        #expect(pending.laid(at: Revision(1)).map(\.id) == [other, between])
        // The server has the entry at the revision of the last of them.
        for (number, id) in all.enumerated() {
            #expect(pending.sendableUndo == nil)
            pending.answered(id, revision: Revision(UInt64(7 + number)), isChanged: true)
        }
        #expect(pending.sendableUndo?.id == undo && pending.sendableUndo?.expected == Revision(8))
    }

    @Test func anUndoOfARefusedWriteIsVain() throws {
        var pending = PendingWrites()
        let one = pending.add(self.edit("1"))
        pending.sent(one, request: 1)
        let undo = try pending.startUndo()
        #expect(pending.takeVainUndos() == [])
        _ = pending.refused(one)
        #expect(pending.sendableUndo == nil)
        #expect(pending.takeVainUndos() == [undo])
        #expect(pending.undos.isEmpty)
    }

    @Test func aRedoComesAfterTheUndosBeforeIt() throws {
        var pending = PendingWrites()
        let one = pending.add(self.edit("1"))
        pending.sent(one, request: 1)
        let (undo, redo) = (try pending.startUndo(), pending.redo())
        #expect(pending.sendableUndo == nil)
        pending.named(1, Revision(7))
        #expect(pending.sendableUndo?.id == undo)
        pending.undoSent(undo)
        pending.undoEnded(undo, Self.receipt(8))
        #expect(pending.sendableUndo?.id == redo && pending.sendableUndo?.isRedo == true)
        #expect(pending.sendableUndo?.expected == nil)
    }

    @Test func anUndoAfterARedoUndoesWhatWasRedone() throws {
        var pending = PendingWrites()
        let one = pending.add(self.edit("1"))
        pending.sent(one, request: 1)
        let redo = pending.redo()
        _ = try pending.startUndo()
        #expect(pending.undos.last?.targets == [] && pending.undos.last?.isRedo == false)
        // Only once, and not if nothing was redone.
        _ = try pending.startUndo()
        #expect(pending.undos.last?.targets == [one])
        // Which entry that is, is known with the answer to the redo.
        #expect(pending.sendableUndo?.id == redo)
        pending.undoSent(redo)
        #expect(pending.sendableUndo == nil)
        pending.undoEnded(redo, Self.receipt(9))
        #expect(pending.sendableUndo?.expected == Revision(9))
    }

    @Test func anUndoOfARedoThatDoesNothingIsVain() throws {
        for answer in [nil, Self.receipt(9, isChanged: false)] {
            var pending = PendingWrites()
            let one = pending.add(self.edit("1"))
            pending.sent(one, request: 1)
            let redo = pending.redo()
            let undo = try pending.startUndo()
            pending.undoSent(redo)
            pending.undoEnded(redo, answer)
            #expect(pending.takeVainUndos() == [undo])
            // Nothing was redone that comes before it.
            _ = try pending.startUndo()
            #expect(pending.undos.last?.targets == [one])
        }
    }

    @Test func aGroupThatHasStepsIsNotUndone() {
        var pending = PendingWrites()
        let one = pending.add(self.edit("1"))
        let group = pending.add(UnconfirmedTransaction([], time: 0), isOpen: true)
        // Without steps it is not there yet.
        if case .withdrew(let write) = pending.undo() { #expect(write.id == one) } else { Issue.record("not undone") }
        pending.replace(group, with: self.edit("2"))
        if case .open = pending.undo() {} else { Issue.record("an open group is undone") }
    }

    // MARK: Refusals because of refusals

    @Test func aWriteThatNamesWhatARefusedOneWasToMakeHasItAsCause() {
        var pending = PendingWrites()
        let insert = Mutation.insertAs(ObjectID(9), entity: EntityNumber(1), values: [], placements: [])
        let one = pending.add(UnconfirmedTransaction([insert], time: 0))
        let two = pending.add(UnconfirmedTransaction([.update(.object(ObjectID(9)), values: [])], time: 0))
        let three = pending.add(UnconfirmedTransaction([.update(.object(ObjectID(8)), values: [])], time: 0))
        #expect(pending.cause(of: two) == nil)
        _ = pending.refused(one)
        #expect(pending.cause(of: two) == one)
        #expect(pending.cause(of: three) == nil)
        // A corrected write makes the object after all.
        _ = pending.add(UnconfirmedTransaction([insert], time: 0), place: one)
        #expect(pending.cause(of: two) == nil)
    }

    @Test func failuresOfTheServerAreCounted() throws {
        var pending = PendingWrites()
        let write = pending.add(self.edit("1"))
        for failures in 1...2 {
            pending.sent(write, request: UInt64(failures))
            pending.requeue(write, isFailure: true)
            #expect(pending[write]?.failures == failures && pending[write]?.state == .queued)
        }
        // It had no time, which is no failure.
        pending.sent(write, request: 3)
        pending.requeue(write)
        #expect(pending[write]?.failures == 2)
        pending.sent(write, request: 4)
        let undo = try pending.startUndo()
        pending.answered(write, revision: Revision(5), isChanged: true)
        pending.undoSent(undo)
        pending.undoRequeued(undo, isFailure: true)
        #expect(pending.undos.first?.failures == 1 && pending.sendableUndo?.id == undo)
    }

    // MARK: Groups, refusals and other histories

    @Test func anOpenGroupGrowsUntilItEnds() {
        var pending = PendingWrites()
        let group = pending.add(self.edit("1"), isOpen: true)
        pending.replace(group, with: self.edit("2"))
        #expect(pending[group]?.state == .open)
        pending.close(group)
        #expect(pending[group]?.state == .queued)
        pending.replace(group, with: self.edit("3"))
        #expect(pending[group]?.transaction.mutations == self.edit("2").mutations)
    }

    @Test func aCorrectedWriteTakesThePlaceOfTheRefusedOne() {
        var pending = PendingWrites()
        let (one, two) = (pending.add(self.edit("1")), pending.add(self.edit("2")))
        pending.sent(one, request: 1)
        let refused = pending.refused(one)
        #expect(refused?.id == one)
        let corrected = pending.add(self.edit("3"), place: refused?.place)
        #expect(pending.writes.map(\.id) == [corrected, two])
    }

    @Test func whatIsNotInTheNewHistoryIsParked() {
        var pending = PendingWrites()
        let writes = (0..<4).map { pending.add(self.edit("\($0)")) }
        pending.sent(writes[0], request: 1)
        pending.answered(writes[0], revision: Revision(3), isChanged: true)
        pending.sent(writes[1], request: 2)
        pending.connectionLost()
        #expect(pending.historyChanged() == Array(writes[1...]))
        #expect(pending.writes.map(\.state) == [.parked, .parked, .parked])
        #expect(pending.laid(at: Revision(1)).isEmpty)
        pending.sent(writes[2], request: 3)
        #expect(pending[writes[2]]?.state == .parked)
        for write in writes { pending.discard(write) }
        #expect(pending.writes.isEmpty)
    }

    @Test func anotherModelParksOnlyWhatIsNotUnderWay() {
        var pending = PendingWrites()
        let (one, two) = (pending.add(self.edit("1")), pending.add(self.edit("2")))
        pending.sent(one, request: 1)
        #expect(pending.parkUnsent() == [two])
        #expect(pending[one]?.state == .sent(request: 1))
    }
}

extension PendingWrites {
    /// Undoes the newest write, which was sent.
    fileprivate mutating func startUndo() throws -> PendingUndo.ID {
        guard case .added(let id) = self.undo() else { throw ProcessFailure("no undo was added") }
        return id
    }
}
