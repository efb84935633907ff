import NestModel
import NestProtocol
import NestFraming

/// Decides what a frame may do in the conversation with one client. It decodes no body but HELLO's, and knows no
/// channel and no clock; the connection does what it decides.
///
///     preface ──preface──▶ hello ──HELLO──▶ greeting ──welcome──▶ ready ──GOAWAY sent──▶ draining
///        any ──fatal, or the connection's end──▶ closed
package struct SessionStateMachine: Sendable {
    package enum Phase: Equatable, Sendable {
        case preface, hello
        /// The engine has HELLO; until it answers the connection reads nothing more.
        case greeting
        case ready, draining, closed
    }

    package enum PrefaceAction: Equatable, Sendable {
        /// Both speak this version.
        case answer(version: UInt8)
        /// No version in common: answer with version 0, then close.
        case reject
    }

    package enum FrameAction: Equatable, Sendable {
        case ignore
        case hello(Hello)
        /// A new request, counted as taken.
        case request(MessageType, id: UInt32)
        /// A frame that belongs to a request taken earlier.
        case part(MessageType, id: UInt32)
        /// PING, PONG, GOAWAY.
        case control(MessageType)
        /// Answer the request of this id with an error; the connection stays.
        case refuse(id: UInt32, NestError)
        /// The connection ends with this error.
        case close(NestError)
    }

    package enum WelcomeAction: Equatable, Sendable {
        case welcome(Features)
        case close(NestError)
        case ignore
    }

    package private(set) var phase = Phase.preface
    /// The highest request id seen, whether or not it was taken.
    package private(set) var lastRequestID: UInt32 = 0
    private var hello: Hello?
    /// Bytes that came before HELLO.
    private var bytesBeforeHello = Preface.byteCount

    package init() {}

    package mutating func received(_ preface: Preface) -> PrefaceAction {
        // `ClientConnection.handleInbound` reads a preface in this phase only, and no frame before it.
        precondition(self.phase == .preface, "the preface comes once")
        guard let version = Preface.version(clientHighest: preface.bytes[4], clientLowest: preface.bytes[5]) else {
            self.phase = .closed
            return .reject
        }
        self.phase = .hello
        return .answer(version: version)
    }

    package mutating func received(_ frame: Frame) -> FrameAction {
        switch self.phase {
        // `ClientConnection.mayHandle` leaves frames unread until the engine has greeted.
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
        if frame.isIgnorable { return .ignore }
        let type = MessageType(rawValue: frame.type)
        switch type {
        case .ping, .pong, .goAway:
            guard frame.id == 0, frame.flags.isSubset(of: .skippable) else {
                return self.close(NestError(.protocolViolation, "PING, PONG and GOAWAY have id 0 and no flags"))
            }
            return .control(type!)
        case .cancel, .credit, .subtreeChunk, .subtreeEnd:
            guard frame.id > 0, frame.id <= self.lastRequestID else {
                return self.close(NestError(.protocolViolation, "request \(frame.id) was never made"))
            }
            guard frame.flags.isSubset(of: .skippable) else {
                return .refuse(id: frame.id, WireError.unsupportedFlag(frame.flags.rawValue).nestError)
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
            let text = "request ids increase: \(frame.id) after \(self.lastRequestID)"
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
        guard let type, type.request != nil else {
            return .refuse(id: frame.id, WireError.unsupportedMessage(frame.type).nestError)
        }
        guard frame.flags.isSubset(of: .skippable) else {
            return .refuse(id: frame.id, WireError.unsupportedFlag(frame.flags.rawValue).nestError)
        }
        return .request(type, id: frame.id)
    }

    /// The engine has answered HELLO.
    package mutating func welcomed(historyID: Identifier128, modelHash: UInt64) -> WelcomeAction {
        guard self.phase == .greeting, let hello = self.hello else { return .ignore }
        if let expected = hello.expectedHistory, expected != historyID {
            let text =
                "this store has the history \(historyID), not \(expected): what the client holds is of another store"
            self.phase = .closed
            return .close(NestError(.conflict, text))
        }
        if let expected = hello.expectedModelHash, expected != modelHash {
            self.phase = .closed
            return .close(NestError(.schemaChanged, "the server has another model than the client expects: ask for it"))
        }
        self.phase = .ready
        return .welcome(hello.features.intersection(.all))
    }

    /// Takes no new requests from now on. Returns whether to send GOAWAY: not to a client that never got WELCOME.
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
