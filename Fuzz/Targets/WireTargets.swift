import NIOCore
import NestEngine
import NestModel
import NestServer
import NestProtocol
import NestFraming

/// Frames and bodies of messages.
enum WireTargets {
    private enum Outcome: Equatable {
        case awaiting
        case failed(WireError)
    }

    /// The first byte says how the others are cut: however that is, the frames are the same.
    static func frames(_ bytes: [UInt8]) throws(FuzzFailure) {
        guard let cut = bytes.first else { return }
        let stream = Array(bytes.dropFirst())
        let whole = self.decode([stream])
        let pieces = self.decode(Self.pieces(stream, seed: cut))
        try FuzzFailure.unless(whole.frames == pieces.frames, "frames differ by how they are cut")
        try FuzzFailure.unless(whole.outcome == pieces.outcome, "the end differs by how it is cut")
        let taken = whole.frames.reduce(0) { $0 + $1.byteCount }
        try FuzzFailure.unless(taken <= stream.count, "more frames than bytes")
    }

    private static func decode(_ pieces: [[UInt8]]) -> (frames: [Frame], outcome: Outcome) {
        let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesBeforeWelcomeMax)
        var buffer = ByteBuffer()
        var frames: [Frame] = []
        do throws(WireError) {
            for piece in pieces {
                buffer.writeBytes(piece)
                while let frame = try decoder.next(from: &buffer) { frames.append(frame) }
                buffer.discardReadBytes()
            }
            return (frames, .awaiting)
        } catch {
            return (frames, .failed(error))
        }
    }

    /// Pieces of 1 to 16 bytes.
    static func pieces(_ bytes: [UInt8], seed: UInt8) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var state = UInt32(seed)
        var start = 0
        while start < bytes.count {
            state = state &* 1_103_515_245 &+ 12_345
            let end = min(bytes.count, start + 1 + Int(state >> 16 & 15))
            pieces.append(Array(bytes[start..<end]))
            start = end
        }
        return pieces
    }

    /// A preface, then frames, to a session that the engine has welcomed after HELLO.
    static func conversation(_ bytes: [UInt8]) throws(FuzzFailure) {
        var machine = SessionStateMachine()
        var buffer = ByteBuffer(bytes: bytes)
        guard let preface = try? Preface.read(from: &buffer), case .answer = machine.received(preface) else { return }
        let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesMax)
        while let frame = try? decoder.next(from: &buffer) {
            let last = machine.lastRequestID
            switch machine.received(frame) {
            case .hello:
                _ = machine.welcomed(historyID: Identifier128(high: 1, low: 2), modelHash: 3)
                guard machine.phase == .ready else { return }
            case .request(let type, let id):
                try FuzzFailure.unless(id > last && id <= Limits.requestIDMax, "a request id that does not grow")
                _ = try? EngineRequest(type: type, body: frame.body)
            case .part(_, let id):
                try FuzzFailure.unless(id > 0 && id <= last, "a part of a request that was never made")
            case .close:
                return try FuzzFailure.unless(machine.phase == .closed, "closed and not closed")
            case .ignore, .control, .refuse:
                break
            }
        }
    }

    /// The first byte says which message it is. What is read is written so that it is read again as the same.
    static func body(_ bytes: [UInt8]) throws(FuzzFailure) {
        guard let first = bytes.first else { return }
        let types = MessageType.allCases
        let type = types[Int(first) % types.count].message
        guard let message = try? type.init(body: ByteBuffer(bytes: bytes.dropFirst())) else { return }
        self.readRows(of: message)
        let body = message.body
        guard let again = try? type.init(body: ByteBuffer(bytes: body)) else {
            throw FuzzFailure("\(type) is written so that it cannot be read")
        }
        try FuzzFailure.unless(again.body == body, "\(type) is not written the same twice")
    }

    /// What only who knows the subscription can read.
    private static func readRows(of message: any Message) {
        for valueCount in 0..<3 {
            switch message {
            case let message as SnapshotRows: _ = try? message.rows(valueCount: valueCount)
            case let message as DiffBody:
                _ = try? message.diff(valueCount: valueCount)
                _ = try? message.diff(valueCount: valueCount, hasWindow: true)
            default: return
            }
        }
    }
}
