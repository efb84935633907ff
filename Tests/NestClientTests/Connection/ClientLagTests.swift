import NIOCore
import NestFraming
import NestModel
import NestProtocol
import Testing

@testable import NestClient

/// A client with a list of addresses, at nodes that lag, are drained or do not reach the log, step by step.
@Suite struct ClientLagTests {
    private static let start = NIODeadline.uptimeNanoseconds(0)
    private static let late = ErrorMessage(NestError(.revisionNotReached, "not yet at 3"))
    private static let noLog = ErrorMessage(NestError(.logUnavailable, "the log cannot be reached"))

    private static func frame(_ message: some Message, id: UInt32 = 0) -> Frame {
        Frame(type: Swift.type(of: message).type.rawValue, id: id, body: ByteBuffer(bytes: message.body))
    }

    /// A client that is connected to one of so many nodes.
    private static func ready(_ count: Int) throws -> ClientStateMachine {
        let hello = Hello(clientName: "t", session: Identifier128(high: 1, low: 2))
        let homes = (0..<count).map { ServerAddress(host: "n\($0)", port: 7000) }
        var machine = ClientStateMachine(hello: hello, seed: 1, homes: homes)
        _ = machine.connect()
        _ = try Self.welcome(&machine)
        return machine
    }

    private static func welcome(_ machine: inout ClientStateMachine) throws -> [MessageType] {
        _ = machine.channelOpened(now: Self.start)
        _ = machine.received(.server(chosen: 1))
        let welcome = Welcome(
            serverName: "s",
            features: .all,
            historyID: Identifier128(high: 0, low: 7),
            revision: Revision(3),
            oldestRevision: Revision(0),
            modelHash: 0,
            sessionNumber: 0,
            requestsInFlightMax: 8,
            replica: .init(store: "default", role: .follower, leader: "other:7000")
        )
        return try Self.sent(machine.received(Self.frame(welcome), now: Self.start))
    }

    private static func sent(_ actions: [ClientAction]) throws -> [MessageType] {
        try actions.compactMap { action in
            guard case .send(var buffer) = action else { return nil }
            return try FrameDecoder(bodyBytesMax: Limits.frameBytesMax).next(from: &buffer)
                .flatMap { MessageType(rawValue: $0.type) }
        }
    }

    /// Goes on to the next node, without a pause. Returns the requests that the client sends there.
    private static func move(_ machine: inout ClientStateMachine) throws -> [MessageType] {
        #expect(machine.channelClosed(nil, now: Self.start).last == .openChannelAfter(milliseconds: 0))
        _ = machine.backoffEnded()
        return try Self.welcome(&machine)
    }

    private static func waits(_ actions: [ClientAction]) -> Bool {
        actions.contains { if case .subscribeAfter(let pause) = $0 { pause > 0 } else { false } }
    }

    private static func fetch(_ token: UInt64) -> OutgoingRequest {
        OutgoingRequest(owner: .caller(RequestToken(token)), kind: .read, Fetch(Fixtures.request))
    }

    private static func write(_ token: UInt64) -> OutgoingRequest {
        OutgoingRequest(owner: .caller(RequestToken(token)), kind: .write, TransactionMessage(Fixtures.insert))
    }

    private static func download(_ token: UInt64) -> OutgoingRequest {
        OutgoingRequest(owner: .caller(RequestToken(token)), kind: .download, BackupRequest())
    }

    // MARK: Drained nodes

    /// A drained node takes no download. Nothing of it has arrived, so the next node gets it.
    @Test func aDownloadThatADrainedNodeDidNotTakeBeginsAtTheNext() throws {
        var machine = try Self.ready(3)
        _ = machine.submit(Self.download(1))
        let goAway = GoAway(code: .shuttingDown, lastRequestID: 0, retryAfterMilliseconds: 700, message: "")
        #expect(machine.received(Self.frame(goAway), now: Self.start) == [.closeChannel])
        #expect(try Self.move(&machine) == [.backup])
    }

    @Test func aDownloadThatTheServerTookFailsWithItsConnection() throws {
        var machine = try Self.ready(3)
        _ = machine.submit(Self.download(1))
        let goAway = GoAway(code: .shuttingDown, lastRequestID: 1, retryAfterMilliseconds: 700, message: "")
        #expect(machine.received(Self.frame(goAway), now: Self.start).isEmpty)
        let lost = machine.channelClosed(nil, now: Self.start)
        #expect(lost.contains { if case .fail(_, let error) = $0 { error.code == .connectionLost } else { false } })
    }
}
