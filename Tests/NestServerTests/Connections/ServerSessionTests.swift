import NIOCore
import NestModel
import NestServer
import NestProtocol
import Testing
import NestFraming

/// The session state machine's action for frames in each phase, without a channel.
struct ServerSessionTests {
    private static let session = Identifier128(high: 1, low: 2)
    private static let history = Identifier128(high: 3, low: 4)

    private static func frame(_ message: some Message, id: UInt32 = 0, flags: Frame.Flags = []) -> Frame {
        Frame(type: type(of: message).type.rawValue, flags: flags, id: id, body: ByteBuffer(bytes: message.body))
    }

    private static func preface(highest: UInt8, lowest: UInt8) throws -> Preface {
        var bytes = ByteBuffer(bytes: Preface.magic + [highest, lowest, 0, 0])
        return try #require(try Preface.read(from: &bytes))
    }

    private static func greeting(expecting history: Identifier128? = nil) -> SessionStateMachine {
        var machine = SessionStateMachine()
        _ = machine.received(Preface.client)
        _ = machine.received(Self.frame(Hello(clientName: "test", session: Self.session, expectedHistory: history)))
        return machine
    }

    private static func ready() -> SessionStateMachine {
        var machine = Self.greeting()
        _ = machine.welcomed(historyID: Self.history, modelHash: 7)
        return machine
    }

    private static func code(_ action: SessionStateMachine.FrameAction) -> ErrorCode? {
        switch action {
        case .refuse(_, let error), .close(let error): error.code
        default: nil
        }
    }

    @Test func aHandshakeLeadsToReady() {
        var machine = SessionStateMachine()
        #expect(machine.received(Preface.client) == .answer(version: 1))
        #expect(machine.phase == .hello)
        let hello = Hello(clientName: "test", features: .undo, session: Self.session)
        #expect(machine.received(Self.frame(hello)) == .hello(hello))
        #expect(machine.phase == .greeting)
        #expect(machine.welcomed(historyID: Self.history, modelHash: 7) == .welcome(.undo))
        #expect(machine.phase == .ready)
    }

    @Test func versionsWithoutOverlapAreRejected() throws {
        var machine = SessionStateMachine()
        #expect(machine.received(try Self.preface(highest: 9, lowest: 8)) == .reject)
        #expect(machine.phase == .closed)
        var newer = SessionStateMachine()
        #expect(newer.received(try Self.preface(highest: 9, lowest: 1)) == .answer(version: 1))
    }

    @Test func theFirstFrameMustBeHello() {
        for frame in [Self.frame(GetModel(), id: 1), Self.frame(Ping(payload: 1)), Frame(type: 0x01, id: 7)] {
            var machine = SessionStateMachine()
            _ = machine.received(Preface.client)
            #expect(Self.code(machine.received(frame)) == .protocolViolation)
            #expect(machine.phase == .closed)
        }
    }

    /// They were sent before the client read GOAWAY.
    @Test func partsOfRequestsThatGoAwayRefusesAreIgnored() {
        var machine = Self.ready()
        #expect(machine.received(Self.frame(GetModel(), id: 3)) == .request(.getModel, id: 3))
        _ = machine.drain()
        #expect(machine.received(Self.frame(Cancel(), id: 3)) == .part(.cancel, id: 3))
        #expect(machine.received(Self.frame(Cancel(), id: 4)) == .ignore)
        #expect(machine.received(Self.frame(Credit(bytes: 1), id: 9)) == .ignore)
        #expect(Self.code(machine.received(Self.frame(Cancel(), id: 0))) == .protocolViolation)
    }

    @Test func aMalformedHelloCloses() {
        var machine = SessionStateMachine()
        _ = machine.received(Preface.client)
        let frame = Frame(type: MessageType.hello.rawValue, id: 0, body: ByteBuffer(bytes: [5, 1]))
        #expect(Self.code(machine.received(frame)) == .malformed)
        #expect(machine.phase == .closed)
    }

    @Test func anotherHistoryThanExpectedCloses() {
        var machine = Self.greeting(expecting: Identifier128(high: 9, low: 9))
        guard case .close(let error) = machine.welcomed(historyID: Self.history, modelHash: 7) else {
            Issue.record("the session must close")
            return
        }
        #expect(error.code == .conflict)
        #expect(machine.phase == .closed)

        var same = Self.greeting(expecting: Self.history)
        #expect(same.welcomed(historyID: Self.history, modelHash: 7) == .welcome(.usual))
    }

    @Test func requestIDsIncrease() {
        var machine = Self.ready()
        #expect(machine.received(Self.frame(GetModel(), id: 5)) == .request(.getModel, id: 5))
        #expect(Self.code(machine.received(Self.frame(GetModel(), id: 5))) == .requestID)
        #expect(Self.code(machine.received(Self.frame(GetModel(), id: 4))) == .requestID)
        #expect(machine.received(Self.frame(GetModel(), id: 6)) == .request(.getModel, id: 6))
        #expect(Self.code(machine.received(Self.frame(GetModel(), id: Limits.viewIDMin))) == .requestID)
        #expect(machine.lastRequestID == 6)
        // CANCEL does not make an id free: what is still on its way of a transfer is never part of another one.
        let get = GetValue(ObjectID(2), PropertyNumber(1))
        #expect(machine.received(Self.frame(get, id: 7)) == .request(.getValue, id: 7))
        #expect(machine.received(Self.frame(Cancel(), id: 7)) == .part(.cancel, id: 7))
        #expect(Self.code(machine.received(Self.frame(get, id: 7))) == .requestID)
        let last = Limits.requestIDMax
        #expect(machine.received(Self.frame(GetModel(), id: last)) == .request(.getModel, id: last))
        #expect(Self.code(machine.received(Self.frame(GetModel(), id: 0))) == .protocolViolation)
        #expect(machine.phase == .closed)
    }

    @Test func unknownFramesAreIgnoredOrRefused() {
        var machine = Self.ready()
        #expect(machine.received(Frame(type: 0x90, id: 3)) == .ignore)
        #expect(Self.code(machine.received(Frame(type: 0x7f, id: 3))) == .unsupportedMessage)
        #expect(Self.code(machine.received(Self.frame(Done(), id: 4))) == .unsupportedMessage)
        #expect(Self.code(machine.received(Self.frame(GetModel(), id: 5, flags: .more))) == .unsupportedFlag)
        let ignorable = Frame.Flags(rawValue: 0x80)
        #expect(machine.received(Self.frame(GetModel(), id: 6, flags: ignorable)) == .request(.getModel, id: 6))
        #expect(machine.phase == .ready)
    }

    @Test func partsNeedAnEarlierRequest() {
        var machine = Self.ready()
        _ = machine.received(Self.frame(GetModel(), id: 5))
        #expect(machine.received(Self.frame(Cancel(), id: 5)) == .part(.cancel, id: 5))
        #expect(machine.received(Self.frame(Credit(bytes: 1), id: 2)) == .part(.credit, id: 2))
        #expect(Self.code(machine.received(Self.frame(SubtreeChunk(bytes: []), id: 6))) == .protocolViolation)
        #expect(machine.phase == .closed)
    }

    @Test func aSecondHelloCloses() {
        var machine = Self.ready()
        let hello = Hello(clientName: "test", session: Self.session)
        #expect(Self.code(machine.received(Self.frame(hello))) == .protocolViolation)
    }

    @Test func drainingRefusesRequestsAndAcceptsParts() {
        var machine = Self.ready()
        _ = machine.received(Self.frame(GetModel(), id: 5))
        #expect(machine.drain() == true)
        #expect(Self.code(machine.received(Self.frame(GetModel(), id: 6))) == .shuttingDown)
        #expect(machine.lastRequestID == 5)
        #expect(machine.received(Self.frame(Cancel(), id: 5)) == .part(.cancel, id: 5))
        #expect(machine.received(Self.frame(Ping(payload: 1))) == .control(.ping))
        #expect(machine.drain() == false)
    }

    @Test func goAwayIsNotSentBeforeWelcome() {
        var machine = Self.greeting()
        #expect(machine.drain() == false)
    }
}
