import NIOCore
import NestFraming
import NestModel
import NestProtocol
import Testing

@testable import NestClient

/// What a client asks for an outline, step by step.
@Suite struct OutlineMachineTests: ClientSteps {
    private static let view = Limits.viewIDMin + 3
    private static let subscriber = SubscriberID(1)
    private static let second = SubscriberID(2)

    private static func request(_ outline: FetchOutline = FetchOutline()) -> ObjectFetchRequest {
        var request = Fixtures.request
        request.window = .range(offset: 0, limit: 10)
        request.outline = outline
        return request
    }

    private static func row(_ id: Int64) -> Row {
        Row(id: ObjectID(id), values: [.string("t"), .integer(-1), .integer(0)])
    }

    /// A machine with a live outline of two rows.
    private static func live(_ request: ObjectFetchRequest) throws -> ClientStateMachine {
        var machine = ClientStateMachine(
            hello: Hello(clientName: "t", session: Identifier128(high: 1, low: 2)),
            seed: 1
        )
        _ = machine.connect()
        Self.welcome(&machine, nil)
        let frames = try Self.frames(machine.subscribe(Self.subscriber, to: request))
        try #require(frames.count == 1)
        Self.answer(&machine, frames[0].id)
        return machine
    }

    /// Answers SUBSCRIBE with a snapshot.
    @discardableResult
    private static func answer(_ machine: inout ClientStateMachine, _ id: UInt32) -> [ClientAction] {
        let projection: [PropertyNumber] = [PropertyNumber(1), .outlineChildren, .outlineDepth]
        let subscribed = Subscribed(view: Self.view, first: .snapshot, reason: "", projection: projection)
        var actions = machine.received(Self.frame(subscribed, id: id), now: Self.start)
        var state = Fixtures.state(3, [Self.row(2), Self.row(3)])
        state.projection = projection
        var header = Fixtures.header(state)
        header.window = WindowPosition(total: 2, sectionTotal: 1, start: WindowStart())
        var first = Self.frame(SnapshotMessage(header), id: Self.view)
        first.flags = .more
        actions += machine.received(first, now: Self.start)
        let rows = Fixtures.rows(state.sections[0].rows)
        return actions + machine.received(Self.frame(rows, id: Self.view), now: Self.start)
    }

    /// Loses the connection, and returns the SUBSCRIBE of the next one.
    private static func reconnect(_ machine: inout ClientStateMachine) throws -> Frame {
        _ = machine.channelClosed(nil, now: Self.start)
        _ = machine.backoffEnded()
        let frames = try Self.frames(Self.welcome(&machine, nil))
        return try #require(frames.last)
    }

    private static func states(_ frame: Frame) throws -> [ExpandedState] {
        try #require(frame.type == MessageType.setExpanded.rawValue)
        return try SetExpanded(body: frame.body).states
    }

    @Test func equalOutlinesShareNoSubscription() throws {
        var machine = try Self.live(Self.request())
        let frames = try Self.frames(machine.subscribe(Self.second, to: Self.request()))
        #expect(frames.map(\.type) == [MessageType.subscribe.rawValue])
    }

    /// While one SET_EXPANDED is under way, later states wait, and go as one with the last state of each object.
    @Test func foldStatesAreMergedWhileOthersAreUnderWay() throws {
        var machine = try Self.live(Self.request())
        let (two, three) = (ObjectID(2), ObjectID(3))
        let first = try Self.frames(
            machine.setExpanded(Self.subscriber, [ExpandedState(two, isExpanded: true)], RequestToken(1))
        )
        #expect(try Self.states(first[0]) == [ExpandedState(two, isExpanded: true)])
        for (token, state) in [(2, ExpandedState(three, isExpanded: true)), (3, ExpandedState(two, isExpanded: false))]
        {
            let waiting = machine.setExpanded(Self.subscriber, [state], RequestToken(UInt64(token)))
            #expect(waiting == [])
        }
        let actions = machine.received(Self.frame(Done(), id: first[0].id), now: Self.start)
        #expect(actions.first == .succeed(RequestToken(1), .changed(isNewest: true)))
        let next = try Self.frames(actions)
        #expect(
            try Self.states(next[0]) == [ExpandedState(two, isExpanded: false), ExpandedState(three, isExpanded: true)]
        )
    }

    /// Of a zoom and two scrolls that wait, the zoom and the last window are asked for, with the fold states as they
    /// are.
    @Test func waitingEditsAreMerged() throws {
        var machine = try Self.live(Self.request(FetchOutline(.all, exceptions: [ObjectID(2)])))
        let edits = [
            OutlineEdit(window: .range(offset: 1, limit: 10)),
            OutlineEdit(source: ObjectID(2), window: .range(offset: 0, limit: 10)),
            OutlineEdit(window: .range(offset: 20, limit: 10)), OutlineEdit(window: .range(offset: 30, limit: 10)),
        ]
        var sent: [Frame] = []
        var replaced: [RequestToken] = []
        for (index, edit) in edits.enumerated() {
            let actions = machine.edit(Self.subscriber, edit, RequestToken(UInt64(index)))
            sent += try Self.frames(actions)
            replaced += actions.compactMap {
                if case .succeed(let token, .changed(isNewest: false)) = $0 { token } else { nil }
            }
        }
        #expect(sent.count == 1 && replaced == [RequestToken(2)])
        #expect(try Resubscribe(body: sent[0].body).request.outline == FetchOutline(.asBefore))
        let refusal = ErrorMessage(NestError(.limitExceeded, "no"))
        let actions = machine.received(Self.frame(refusal, id: sent[0].id), now: Self.start)
        #expect(actions.contains(.fail(RequestToken(0), NestError(.limitExceeded, "no"))))
        let next = try Resubscribe(body: try Self.frames(actions)[0].body).request
        #expect(next.source?.object == ObjectID(2) && next.window == .range(offset: 30, limit: 10))
    }

    /// Fold states that were set before an edit with other fold states go first, because the edit may be refused; those
    /// that were set after it go last.
    @Test func foldStatesStayOnTheirSideOfAnEditThatReplacesThem() throws {
        var machine = try Self.live(Self.request())
        func fold(_ id: Int64, _ token: UInt64) throws -> [Frame] {
            let state = ExpandedState(ObjectID(id), isExpanded: true)
            return try Self.frames(machine.setExpanded(Self.subscriber, [state], RequestToken(token)))
        }
        let first = try fold(2, 1)
        _ = try fold(3, 2)
        _ = machine.edit(Self.subscriber, OutlineEdit(outline: FetchOutline(.all)), RequestToken(3))
        _ = try fold(4, 4)
        let second = try Self.frames(machine.received(Self.frame(Done(), id: first[0].id), now: Self.start))
        #expect(try Self.states(second[0]) == [ExpandedState(ObjectID(3), isExpanded: true)])
        let edit = try Self.frames(machine.received(Self.frame(Done(), id: second[0].id), now: Self.start))
        #expect(try Resubscribe(body: edit[0].body).request.outline == FetchOutline(.all))
        // The connection is lost before the answer: the edit and what was set after it wait again, in this order.
        let subscribe = try Self.reconnect(&machine)
        #expect(try Subscribe(body: subscribe.body).request.outline?.exceptions == [ObjectID(2), ObjectID(3)])
        let again = try Self.frames(Self.answer(&machine, subscribe.id))
        #expect(again.count == 1 && again[0].type == MessageType.resubscribe.rawValue)
        let refusal = Self.frame(ErrorMessage(NestError(.limitExceeded, "no")), id: again[0].id)
        let last = try Self.frames(machine.received(refusal, now: Self.start))
        #expect(try Self.states(last[0]) == [ExpandedState(ObjectID(4), isExpanded: true)])
        _ = machine.received(Self.frame(Done(), id: last[0].id), now: Self.start)
        let folds = machine.currentRequest(of: Self.subscriber)?.outline
        #expect(folds == FetchOutline(.none, exceptions: [ObjectID(2), ObjectID(3), ObjectID(4)]))
    }

    /// A scroll around a row of the old outline does not take the zoom before it along when it is refused.
    @Test func editsThatAreRefusedTogetherAreSentOneByOne() throws {
        var machine = try Self.live(Self.request())
        let edits = [
            OutlineEdit(window: .range(offset: 1, limit: 10)), OutlineEdit(source: ObjectID(2)),
            OutlineEdit(window: .around(ObjectID(3), before: 1, after: 1)),
        ]
        var sent: [Frame] = []
        for (index, edit) in edits.enumerated() {
            sent += try Self.frames(machine.edit(Self.subscriber, edit, RequestToken(UInt64(index))))
        }
        let refusal = ErrorMessage(NestError(.notFound, "no such row"))
        func refuse(_ frame: Frame) -> [ClientAction] {
            machine.received(Self.frame(refusal, id: frame.id), now: Self.start)
        }
        let both = try Self.frames(refuse(sent[0]))
        #expect(try Resubscribe(body: both[0].body).request.source?.object == ObjectID(2))
        let zoom = try Self.frames(refuse(both[0]))
        let request = try Resubscribe(body: zoom[0].body).request
        #expect(request.source?.object == ObjectID(2) && request.window == .range(offset: 0, limit: 10))
        let subscribed = Subscribed(
            view: Self.view + 1,
            first: .current(Revision(3)),
            reason: "",
            projection: [PropertyNumber(1), .outlineChildren, .outlineDepth]
        )
        let actions = machine.received(Self.frame(subscribed, id: zoom[0].id), now: Self.start)
        #expect(actions.contains(.succeed(RequestToken(1), .changed(isNewest: true))))
        let scroll = try Self.frames(actions)
        #expect(try Resubscribe(body: scroll[0].body).request.window == .around(ObjectID(3), before: 1, after: 1))
        #expect(refuse(scroll[0]).contains(.fail(RequestToken(2), NestError(.notFound, "no such row"))))
        #expect(machine.currentRequest(of: Self.subscriber)?.source?.object == ObjectID(2))
    }

    /// Of two calls that are sent together, only the one is refused that the server refuses alone.
    @Test func foldStatesThatAreRefusedTogetherAreSetOneByOne() throws {
        var machine = try Self.live(Self.request())
        var frames: [Frame] = []
        for number in 1...3 {
            let state = ExpandedState(ObjectID(Int64(number)), isExpanded: true)
            frames += try Self.frames(machine.setExpanded(Self.subscriber, [state], RequestToken(UInt64(number))))
        }
        let refusal = ErrorMessage(NestError(.limitExceeded, "no"))
        let both = try Self.frames(machine.received(Self.frame(Done(), id: frames[0].id), now: Self.start))
        #expect(try Self.states(both[0]).count == 2)
        let two = try Self.frames(machine.received(Self.frame(refusal, id: both[0].id), now: Self.start))
        #expect(try Self.states(two[0]).map(\.object) == [ObjectID(2)])
        let actions = machine.received(Self.frame(refusal, id: two[0].id), now: Self.start)
        #expect(actions.contains(.fail(RequestToken(2), NestError(.limitExceeded, "no"))))
        let three = try Self.frames(actions)
        #expect(try Self.states(three[0]).map(\.object) == [ObjectID(3)])
        _ = machine.received(Self.frame(Done(), id: three[0].id), now: Self.start)
        #expect(machine.currentRequest(of: Self.subscriber)?.outline?.exceptions == [ObjectID(1), ObjectID(3)])
    }

    /// Restored states that the server refuses end the outline: it would not be what its user has set.
    @Test func restoredStatesThatAreRefusedEndTheOutline() throws {
        var machine = try Self.live(Self.request(FetchOutline(.attribute(PropertyNumber(3)))))
        let state = ExpandedState(ObjectID(2), isExpanded: true)
        let set = try Self.frames(machine.setExpanded(Self.subscriber, [state], RequestToken(1)))
        _ = machine.received(Self.frame(Done(), id: set[0].id), now: Self.start)
        let subscribe = try Self.reconnect(&machine)
        let again = try Self.frames(Self.answer(&machine, subscribe.id))
        let error = NestError(.limitExceeded, "no")
        let actions = machine.received(Self.frame(ErrorMessage(error), id: again[0].id), now: Self.start)
        #expect(actions.contains(.endSubscription([Self.subscriber], error)))
        #expect(try Self.frames(actions).map(\.type) == [MessageType.unsubscribe.rawValue])
    }

    @Test func theExpansionOfAnotherViewIsRefused() throws {
        var machine = try Self.live(Self.request())
        let edit = OutlineEdit(outline: FetchOutline(.asBefore))
        let actions = machine.edit(Self.subscriber, edit, RequestToken(1))
        guard case .fail(RequestToken(1), let error)? = actions.first else {
            Issue.record("not refused: \(actions)")
            return
        }
        #expect(error.code == .invalid && actions.count == 1)
    }

    /// A pause waits for the answer to a fold, so that its caller gets the answer.
    @Test func aPauseComesAfterAFold() throws {
        var machine = try Self.live(Self.request())
        let state = ExpandedState(ObjectID(2), isExpanded: true)
        let set = try Self.frames(machine.setExpanded(Self.subscriber, [state], RequestToken(1)))
        #expect(machine.pause(Self.subscriber) == [])
        let actions = machine.received(Self.frame(Done(), id: set[0].id), now: Self.start)
        #expect(actions.contains(.succeed(RequestToken(1), .changed(isNewest: true))))
        #expect(actions.contains(.deliver(.paused, to: [Self.subscriber], byteCount: 0)))
        #expect(try Self.frames(actions).map(\.type) == [MessageType.unsubscribe.rawValue])
    }

    /// After a lost connection the client subscribes again with the fold states that were set, also those whose answer
    /// was lost.
    @Test func foldStatesOutliveTheConnection() throws {
        var machine = try Self.live(Self.request())
        let set = try Self.frames(
            machine.setExpanded(Self.subscriber, [ExpandedState(ObjectID(2), isExpanded: true)], RequestToken(1))
        )
        _ = machine.received(Self.frame(Done(), id: set[0].id), now: Self.start)
        _ = machine.setExpanded(Self.subscriber, [ExpandedState(ObjectID(3), isExpanded: true)], RequestToken(2))
        let subscribe = try Self.reconnect(&machine)
        #expect(try Subscribe(body: subscribe.body).request.outline?.exceptions == [ObjectID(2)])
        let again = try Self.frames(Self.answer(&machine, subscribe.id))
        #expect(try Self.states(again[0]) == [ExpandedState(ObjectID(3), isExpanded: true)])
        let actions = machine.received(Self.frame(Done(), id: again[0].id), now: Self.start)
        #expect(actions.contains(.succeed(RequestToken(2), .changed(isNewest: true))))
        #expect(machine.currentRequest(of: Self.subscriber)?.outline?.exceptions == [ObjectID(2), ObjectID(3)])
    }

    /// In an outline by an attribute the client cannot say which states are exceptions: it sets them again.
    @Test func fixedStatesOfAnOutlineByAnAttributeAreSetAgain() throws {
        let outline = FetchOutline(.attribute(PropertyNumber(3)))
        var machine = try Self.live(Self.request(outline))
        let states = [ExpandedState(ObjectID(2), isExpanded: true), ExpandedState(ObjectID(3), isExpanded: false)]
        let set = try Self.frames(machine.setExpanded(Self.subscriber, states, RequestToken(1)))
        _ = machine.received(Self.frame(Done(), id: set[0].id), now: Self.start)
        let subscribe = try Self.reconnect(&machine)
        #expect(try Subscribe(body: subscribe.body).request.outline == outline)
        let again = try Self.frames(Self.answer(&machine, subscribe.id))
        #expect(try Self.states(again[0]) == states)
    }

    /// The object in the middle of the window was deleted while there was no connection.
    @Test func aMissingAnchorIsReplacedByTheRowsOfTheWindow() throws {
        var request = Self.request()
        request.window = .around(ObjectID(2), before: 4, after: 5)
        var machine = try Self.live(request)
        let subscribe = try Self.reconnect(&machine)
        let refusal = Self.frame(ErrorMessage(NestError(.notFound, "no such row")), id: subscribe.id)
        let again = try Self.frames(machine.received(refusal, now: Self.start))
        #expect(try Subscribe(body: again[0].body).request.window == .range(offset: 0, limit: 10))
        let last = Self.frame(ErrorMessage(NestError(.notFound, "no such object")), id: again[0].id)
        let ended = machine.received(last, now: Self.start)
        #expect(ended == [.endSubscription([Self.subscriber], NestError(.notFound, "no such object"))])
    }

    @Test func tooManyFoldStatesAreRefused() throws {
        var machine = try Self.live(Self.request())
        let states = (0...Limits.outlineExceptionsMax).map { ExpandedState(ObjectID(Int64($0) + 1), isExpanded: true) }
        let actions = machine.setExpanded(Self.subscriber, states, RequestToken(1))
        guard case .fail(RequestToken(1), let error)? = actions.first else {
            Issue.record("not refused: \(actions)")
            return
        }
        #expect(error.code == .limitExceeded && actions.count == 1)
        let sent = try Self.frames(machine.setExpanded(Self.subscriber, Array(states.dropLast()), RequestToken(2)))
        #expect(sent.count == 1)
    }

    /// A caller that no longer waits takes its waiting states back.
    @Test func anAbandonedFoldIsNotSent() throws {
        var machine = try Self.live(Self.request())
        let two = ExpandedState(ObjectID(2), isExpanded: true)
        let first = try Self.frames(machine.setExpanded(Self.subscriber, [two], RequestToken(1)))
        _ = machine.setExpanded(Self.subscriber, [ExpandedState(ObjectID(3), isExpanded: true)], RequestToken(2))
        let edit = OutlineEdit(predicate: FetchPredicate(nodes: [.constant(false)]))
        _ = machine.edit(Self.subscriber, edit, RequestToken(3))
        for token in [RequestToken(2), RequestToken(3)] {
            let actions = machine.abandon(token, isTimeout: true)
            guard actions.count == 1, case .fail(token, _) = actions[0] else {
                Issue.record("\(token) is not abandoned: \(actions)")
                continue
            }
        }
        let sent = try Self.frames(machine.received(Self.frame(Done(), id: first[0].id), now: Self.start))
        #expect(sent.isEmpty)
    }
}
