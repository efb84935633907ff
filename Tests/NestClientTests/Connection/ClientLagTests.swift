import NIOCore
import NestFraming
import NestModel
import NestProtocol
import Testing

@testable import NestClient

/// A client with a list of addresses, at nodes that lag, are drained or do not reach the log, step by step.
@Suite struct ClientLagTests: ClientSteps {
    private static let late = ErrorMessage(NestError(.revisionNotReached, "not yet at 3"))
    private static let noLog = ErrorMessage(NestError(.logUnavailable, "the log cannot be reached"))

    /// A client that is connected to one of so many nodes.
    private static func ready(_ count: Int) -> ClientStateMachine {
        let hello = Hello(clientName: "t", session: Identifier128(high: 1, low: 2))
        let homes = (0..<count).map { ServerAddress(host: "n\($0)", port: 7000) }
        var machine = ClientStateMachine(hello: hello, seed: 1, homes: homes)
        _ = machine.connect()
        Self.welcome(&machine, revision: 3)
        return machine
    }

    /// Goes on to the next node, without a pause. Returns the requests that the client sends there.
    private static func move(_ machine: inout ClientStateMachine) -> [MessageType] {
        #expect(machine.channelClosed(nil, now: Self.start).last == .openChannelAfter(milliseconds: 0))
        _ = machine.backoffEnded()
        return Self.sent(Self.welcome(&machine, revision: 3))
    }

    private static func waits(_ actions: [ClientAction]) -> Bool {
        actions.contains { if case .subscribeAfter(let pause) = $0 { pause > 0 } else { false } }
    }

    private static func download(_ token: UInt64) -> OutgoingRequest {
        OutgoingRequest(owner: .caller(RequestToken(token)), kind: .download, BackupRequest())
    }

    // MARK: Late nodes

    /// A node that applies much is behind for as long as that takes. A subscriber waits for it.
    @Test(arguments: [1, 2]) func aSubscriptionWaitsForNodesThatLag(_ count: Int) {
        var machine = Self.ready(count)
        _ = machine.subscribe(SubscriberID(50), to: Fixtures.request)
        if count > 1 {
            #expect(machine.received(Self.frame(Self.late, id: 1), now: Self.start) == [.closeChannel])
            #expect(Self.move(&machine) == [.subscribe])
        }
        for id in UInt32(1)...3 {
            #expect(Self.waits(machine.received(Self.frame(Self.late, id: id), now: Self.start)))
            #expect(Self.sent(machine.subscribePauseEnded()) == [.subscribe])
        }
        let first = Fixtures.subscribed(Limits.viewIDMin, .snapshot)
        _ = machine.received(Self.frame(first, id: 4), now: Self.start)
        #expect(machine.subscribePauseEnded().isEmpty)
    }

    @Test func aSubscriptionToChangesWaitsForANodeThatLags() {
        var machine = Self.ready(1)
        func since(_ revision: UInt64) -> ResumePoint {
            ResumePoint(historyID: Identifier128(high: 0, low: 7), revision: Revision(revision))
        }
        _ = machine.subscribeToChanges(SubscriberID(50), since: since(3), entities: [])
        #expect(Self.waits(machine.received(Self.frame(Self.late, id: 1), now: Self.start)))
        #expect(Self.sent(machine.subscribePauseEnded()) == [.subscribeChanges])
        // Nothing says that a revision that the client has not seen will ever be there.
        _ = machine.subscribeToChanges(SubscriberID(51), since: since(900), entities: [])
        let ended = machine.received(Self.frame(Self.late, id: 3), now: Self.start)
        #expect(ended == [.endSubscription([SubscriberID(51)], Self.late.error)])
    }

    @Test func aSubscriptionThatWaitsMayEndOrLoseItsConnection() {
        var machine = Self.ready(1)
        _ = machine.subscribe(SubscriberID(50), to: Fixtures.request)
        _ = machine.received(Self.frame(Self.late, id: 1), now: Self.start)
        #expect(machine.unsubscribe(SubscriberID(50)).isEmpty && machine.subscribePauseEnded().isEmpty)
        _ = machine.subscribe(SubscriberID(51), to: Fixtures.request)
        _ = machine.received(Self.frame(Self.late, id: 2), now: Self.start)
        #expect(Self.move(&machine) == [.subscribe])
        #expect(machine.subscribePauseEnded().isEmpty)
    }

    /// A group or a transfer would be lost with the connection.
    @Test func aLateReadDoesNotEndAGroupOrATransfer() {
        for isGroup in [true, false] {
            var machine = Self.ready(2)
            if isGroup {
                let owner = OutgoingRequest.Owner.caller(RequestToken(1))
                _ = machine.submit(OutgoingRequest(owner: owner, kind: .connection, BeginGroup(name: nil)))
                _ = machine.received(Self.frame(Group(number: 4), id: 1), now: Self.start)
            } else {
                _ = machine.submit(Self.download(1))
            }
            _ = machine.submit(Self.fetch(2))
            _ = machine.subscribe(SubscriberID(50), to: Fixtures.request)
            let failed = machine.received(Self.frame(Self.late, id: 2), now: Self.start)
            #expect(failed == [.fail(RequestToken(2), Self.late.error)])
            #expect(Self.waits(machine.received(Self.frame(Self.late, id: 3), now: Self.start)))
        }
    }

    // MARK: Nodes without the log

    /// Another node may reach the log, or the leader. The client asks each once, then it waits at the last.
    @Test func aNodeWithoutTheLogIsLeftOnce() {
        var machine = Self.ready(3)
        var visited: Set<ServerAddress> = [machine.route.current]
        _ = machine.submit(Self.write(1))
        for _ in 0..<2 {
            #expect(machine.received(Self.frame(Self.noLog, id: 1), now: Self.start) == [.closeChannel])
            #expect(Self.move(&machine) == [.transaction])
            visited.insert(machine.route.current)
        }
        #expect(visited.count == 3)
        let paused = machine.received(Self.frame(Self.noLog, id: 1), now: Self.start)
        #expect(paused.contains { if case .retryAfter = $0 { true } else { false } })
        #expect(Self.sent(machine.pauseEnded(now: Self.start)) == [.transaction])
        // The search ends with an answer; the next one begins anew.
        let receipt = ReceiptMessage(Receipt(revision: Revision(9), isChanged: true))
        _ = machine.received(Self.frame(receipt, id: 2), now: Self.start)
        _ = machine.submit(Self.write(2))
        #expect(machine.received(Self.frame(Self.noLog, id: 3), now: Self.start) == [.closeChannel])
    }

    @Test func aTransferStaysAtANodeWithoutTheLog() {
        var machine = Self.ready(3)
        _ = machine.submit(Self.download(1))
        _ = machine.submit(Self.write(2))
        #expect(!machine.received(Self.frame(Self.noLog, id: 2), now: Self.start).contains(.closeChannel))
    }

    // MARK: Drained nodes

    /// A drained node takes no download. Nothing of it has arrived, so the next node gets it.
    @Test func aDownloadThatADrainedNodeDidNotTakeBeginsAtTheNext() {
        var machine = Self.ready(3)
        _ = machine.submit(Self.download(1))
        let goAway = GoAway(code: .shuttingDown, lastRequestID: 0, retryAfterMilliseconds: 700, message: "")
        #expect(machine.received(Self.frame(goAway), now: Self.start) == [.closeChannel])
        #expect(Self.move(&machine) == [.backup])
    }

    @Test func aDownloadThatTheServerTookFailsWithItsConnection() {
        var machine = Self.ready(3)
        _ = machine.submit(Self.download(1))
        let goAway = GoAway(code: .shuttingDown, lastRequestID: 1, retryAfterMilliseconds: 700, message: "")
        #expect(machine.received(Self.frame(goAway), now: Self.start).isEmpty)
        let lost = machine.channelClosed(nil, now: Self.start)
        #expect(lost.contains { if case .fail(_, let error) = $0 { error.code == .connectionLost } else { false } })
    }

    // MARK: No connection

    /// After the first success, the client tries for ever; what its callers get names every address, and a server's
    /// refusal.
    @Test(arguments: [ErrorCode.unauthenticated, .unreachable])
    func aRequestWithoutAConnectionNamesTheAddresses(_ code: ErrorCode) {
        var machine = Self.ready(2)
        _ = machine.submit(Self.fetch(1))
        _ = machine.channelClosed(nil, now: Self.start)
        for _ in 0..<5 {
            _ = machine.backoffEnded()
            if machine.route.current.host == "n0", code == .unauthenticated {
                _ = machine.channelOpened(now: Self.start)
                _ = machine.received(Self.frame(ErrorMessage(NestError(code, "no such token"))), now: Self.start)
            }
            _ = machine.channelClosed(NestError(.unreachable, "nothing listens there"), now: Self.start)
        }
        _ = machine.submit(Self.fetch(2))
        for token in [RequestToken(1), RequestToken(2)] {
            guard case .fail(_, let error)? = machine.abandon(token, isTimeout: true).first else {
                Issue.record("not failed")
                return
            }
            let timeout: ErrorCode = token.rawValue == 1 ? .timedOut : .unreachable
            #expect(error.code == (code == .unreachable ? timeout : code), "\(error)")
            #expect(error.message.contains("n0:7000: ") && error.message.contains("n1:7000: nothing"), "\(error)")
        }
    }
}
