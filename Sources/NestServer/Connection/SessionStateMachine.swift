import NestModel
import NestProtocol
import NestFraming

/// Decides how to handle each frame of one client. It decodes no body but HELLO's, and has no access to the channel or
/// a clock; the connection carries out the decisions.
///
///     preface ──preface──▶ hello ──HELLO──▶ greeting ──welcome──▶ ready ──GOAWAY sent──▶ draining
///        any ──fatal, or the connection's end──▶ closed
package struct SessionStateMachine: Sendable {
    package enum Phase: Equatable, Sendable {
        case preface, hello
        /// The engine has HELLO. The connection reads nothing more until the engine answers.
        case greeting
        case ready, draining, closed
    }

    package enum PrefaceAction: Equatable, Sendable {
        /// Both sides support this version.
        case answer(version: UInt8)
        /// No version in common: answer with version 0, then close.
        case reject
    }

    /// Rare cases are indirect: one action is returned for each frame, and most are small.
    package enum FrameAction: Equatable, Sendable {
        case ignore
        indirect case hello(Hello)
        /// A new request; its id is now `lastRequestID`.
        case request(MessageType, id: UInt32)
        /// A frame that belongs to an earlier request.
        case part(MessageType, id: UInt32)
        /// A part of a request that the connection cannot accept.
        indirect case refusePart(id: UInt32, NestError)
        /// PING, PONG, GOAWAY; of a node also PEER_OPEN and PEER_CLOSE.
        case control(MessageType)
        /// Answer the request of this id with an error; the connection stays open.
        indirect case refuse(id: UInt32, NestError)
        /// The connection ends with this error.
        indirect case close(NestError)
    }

    package enum WelcomeAction: Equatable, Sendable {
        case welcome(Features)
        case close(NestError)
        case ignore
    }

    package private(set) var phase = Phase.preface
    /// The highest id of a request that was accepted, or refused for its type or flags.
    package private(set) var lastRequestID: UInt32 = 0
    private var hello: Hello?
    /// Whether the client is another node of the cluster.
    private var isPeer = false
    /// The bytes received before HELLO.
    private var bytesBeforeHello = Preface.byteCount

    package init() {}

    package mutating func received(_ preface: Preface) -> PrefaceAction {
        // `ClientConnection.handleInbound` reads a preface in this phase only, and no frame before it.
        precondition(self.phase == .preface, "a client sends one preface")
        guard let version = Preface.version(clientHighest: preface.bytes[4], clientLowest: preface.bytes[5]) else {
            self.phase = .closed
            return .reject
        }
        self.phase = .hello
        return .answer(version: version)
    }

    package mutating func received(_ frame: Frame) -> FrameAction {
        switch self.phase {
        // `ClientConnection.mayHandle` leaves frames unread until the engine has answered HELLO.
        case .preface, .greeting: preconditionFailure("no frame is read in the phase \(self.phase)")
        case .closed: return .ignore
        case .hello: return self.receivedFirst(frame)
        case .ready, .draining: return self.receivedLater(frame)
        }
    }

    /// The first frame must be HELLO.
    private mutating func receivedFirst(_ frame: Frame) -> FrameAction {
        if frame.isIgnorable {
            self.bytesBeforeHello += frame.byteCount
            guard self.bytesBeforeHello <= Limits.bytesBeforeHelloMax else {
                let text = "more than \(Limits.bytesBeforeHelloMax) bytes before HELLO"
                return self.close(NestError(.limitExceeded, text))
            }
            return .ignore
        }
        guard frame.type == MessageType.hello.rawValue, frame.id == 0 else {
            return self.close(NestError(.protocolViolation, "the first message must be HELLO, with id 0"))
        }
        guard frame.flags.isSubset(of: .skippable) else {
            return self.close(WireError.unsupportedFlag(frame.flags.rawValue).nestError)
        }
        do throws(WireError) {
            let hello = try Hello(body: frame.body)
            self.hello = hello
            self.phase = .greeting
            return .hello(hello)
        } catch {
            return self.close(error.nestError)
        }
    }

    private mutating func receivedLater(_ frame: Frame) -> FrameAction {
        let type = MessageType(rawValue: frame.type)
        if self.isPeer, type == .peerPresence, frame.id == 0 { return .control(.peerPresence) }
        if frame.isIgnorable { return .ignore }
        switch type {
        case .ping, .pong, .goAway:
            guard frame.id == 0, frame.flags.isSubset(of: .skippable) else {
                return self.close(NestError(.protocolViolation, "PING, PONG and GOAWAY have id 0 and no flags"))
            }
            return .control(type!)
        case .peerOpen where self.isPeer, .peerClose where self.isPeer:
            guard frame.id == 0, frame.flags.isSubset(of: .skippable) else {
                return self.close(NestError(.protocolViolation, "PEER_OPEN and PEER_CLOSE have id 0 and no flags"))
            }
            return .control(type!)
        case .cancel, .credit, .subtreeChunk, .subtreeEnd:
            // The client sent it before it read GOAWAY: its request was not accepted.
            if self.phase == .draining, frame.id > self.lastRequestID { return .ignore }
            guard frame.id > 0, frame.id <= self.lastRequestID else {
                let text = "the client has not sent a request with the id \(frame.id)"
                return self.close(NestError(.protocolViolation, text))
            }
            guard frame.flags.isSubset(of: .skippable) else {
                return .refusePart(id: frame.id, WireError.unsupportedFlag(frame.flags.rawValue).nestError)
            }
            return .part(type!, id: frame.id)
        case .hello:
            return self.close(NestError(.protocolViolation, "HELLO comes once"))
        default:
            return self.receivedRequest(type, frame)
        }
    }

    private mutating func receivedRequest(_ type: MessageType?, _ frame: Frame) -> FrameAction {
        guard frame.id > 0 else {
            return self.close(NestError(.protocolViolation, "a request needs an id above 0"))
        }
        guard frame.id > self.lastRequestID else {
            let text = "request ids must increase: \(frame.id) follows \(self.lastRequestID)"
            return .refuse(id: frame.id, NestError(.requestID, text))
        }
        guard frame.id <= Limits.requestIDMax else {
            let text = "a request's id is at most \(Limits.requestIDMax), not \(frame.id)"
            return .refuse(id: frame.id, NestError(.requestID, text))
        }
        if self.phase == .draining {
            return .refuse(id: frame.id, NestError(.shuttingDown, "the server is stopping: connect again"))
        }
        self.lastRequestID = frame.id
        guard let type, type.request != nil || type.isOfNodes else {
            return .refuse(id: frame.id, WireError.unsupportedMessage(frame.type).nestError)
        }
        guard frame.flags.isSubset(of: .skippable) else {
            return .refuse(id: frame.id, WireError.unsupportedFlag(frame.flags.rawValue).nestError)
        }
        guard self.isPeer || !type.isOfNodes else {
            return .refuse(id: frame.id, NestError(.notPermitted, "only a node of the cluster may send this"))
        }
        return .request(type, id: frame.id)
    }

    /// HELLO has proved that the client is another node of the cluster.
    package mutating func admitPeer() { self.isPeer = true }

    /// Handles the engine's answer to HELLO.
    package mutating func welcomed(historyID: Identifier128, modelHash: UInt64) -> WelcomeAction {
        guard self.phase == .greeting, let hello = self.hello else { return .ignore }
        if let expected = hello.expectedHistory, expected != historyID {
            let text =
                "this store has the history id \(historyID), not \(expected): the client's data is from another store"
            self.phase = .closed
            return .close(NestError(.conflict, text))
        }
        if let expected = hello.expectedModelHash, expected != modelHash {
            self.phase = .closed
            let text = "the server's model is not the one that the client expects: get it with GET_MODEL"
            return .close(NestError(.schemaChanged, text))
        }
        self.phase = .ready
        return .welcome(hello.features.intersection(.all))
    }

    /// Accepts no new requests from now on. Returns whether to send GOAWAY, which is not sent before WELCOME.
    package mutating func drain() -> Bool {
        guard self.phase == .ready else { return false }
        self.phase = .draining
        return true
    }

    package mutating func close() {
        self.phase = .closed
    }

    private mutating func close(_ error: NestError) -> FrameAction {
        self.phase = .closed
        return .close(error)
    }
}

extension Frame.Flags {
    /// Flags that a receiver may ignore if it does not know them.
    static let skippable = Frame.Flags(rawValue: 0xf0)
}
