import NIOCore
import NestFraming
import NestModel
import NestProtocol
import Testing

@testable import NestClient

/// Tests of a client's state machine, step by step: the frames of a server or a node, and what the client sends.
protocol ClientSteps {}

extension ClientSteps {
    static var start: NIODeadline { .uptimeNanoseconds(0) }

    static func frame(_ message: some Message, id: UInt32 = 0) -> Frame {
        Frame(type: Swift.type(of: message).type.rawValue, id: id, body: ByteBuffer(bytes: message.body))
    }

    /// Completes the handshake with a node, or with a single server (`role` is `nil`). Returns the client's
    /// actions then.
    @discardableResult
    static func welcome(
        _ machine: inout ClientStateMachine,
        _ role: ReplicaRole? = .follower,
        leader: String? = "other:7000",
        history: UInt64 = 7,
        revision: UInt64 = 0,
        now: NIODeadline = Self.start
    ) -> [ClientAction] {
        _ = machine.channelOpened(now: now)
        _ = machine.received(.server(chosen: 1))
        let welcome = Welcome(
            serverName: "s",
            features: .all,
            historyID: Identifier128(high: 0, low: history),
            revision: Revision(revision),
            oldestRevision: Revision(0),
            modelHash: 0,
            sessionNumber: 0,
            requestsInFlightMax: 8,
            replica: role.map { .init(store: "default", role: $0, leader: leader) }
        )
        return machine.received(Self.frame(welcome), now: now)
    }

    /// The frames that the client sends.
    static func frames(_ actions: [ClientAction]) throws -> [Frame] {
        try actions.compactMap { action in
            guard case .send(var buffer) = action else { return nil }
            return try FrameDecoder(bodyBytesMax: Limits.frameBytesMax).next(from: &buffer)
        }
    }

    /// The types of the frames that the client sends.
    static func sent(_ actions: [ClientAction]) -> [MessageType] {
        actions.compactMap { action in
            guard case .send(let buffer) = action else { return nil }
            return buffer.getInteger(at: buffer.readerIndex + 4, as: UInt8.self).flatMap { MessageType(rawValue: $0) }
        }
    }

    // MARK: Requests

    static func write(_ token: UInt64) -> OutgoingRequest {
        OutgoingRequest(owner: .caller(RequestToken(token)), kind: .write, TransactionMessage(Fixtures.insert))
    }

    static func read(_ token: UInt64) -> OutgoingRequest {
        OutgoingRequest(owner: .caller(RequestToken(token)), kind: .read, GetObject(id: ObjectID(1)))
    }

    static func fetch(_ token: UInt64, atLeast: Revision = Revision(0)) -> OutgoingRequest {
        OutgoingRequest(owner: .caller(RequestToken(token)), kind: .read, Fetch(Fixtures.request, atLeast: atLeast))
    }
}
