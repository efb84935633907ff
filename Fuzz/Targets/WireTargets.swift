import NIOCore
import NestEngine
import NestModel
import NestServer
import NestProtocol
import NestFraming

/// Frames, and the bodies of messages.
enum WireTargets {
    private enum Outcome: Equatable {
        case awaiting
        case failed(WireError)
    }

    /// The first byte selects how the stream is split. Checks that the frames do not depend on the split.
    static func frames(_ bytes: [UInt8]) throws(FuzzFailure) {
        guard let cut = bytes.first else { return }
        let stream = Array(bytes.dropFirst())
        let whole = self.decode([stream])
        let pieces = self.decode(Self.pieces(stream, seed: cut))
        try FuzzFailure.unless(whole.frames == pieces.frames, "the frames depend on how the stream is split")
        try FuzzFailure.unless(whole.outcome == pieces.outcome, "the end depends on how the stream is split")
        let taken = whole.frames.reduce(0) { $0 + $1.byteCount }
        try FuzzFailure.unless(taken <= stream.count, "the frames have more bytes than the stream")
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

    /// Splits bytes into pieces of 1 to 16 bytes.
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

    /// Sends a preface and then frames to a session, which the engine welcomes after HELLO.
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
                try FuzzFailure.unless(id > last && id <= Limits.requestIDMax, "a request id does not increase")
                _ = try? EngineRequest(type: type, body: frame.body)
            case .part(_, let id), .refusePart(let id, _):
                try FuzzFailure.unless(id > 0 && id <= last, "a part of a request that was never sent")
            case .close:
                return try FuzzFailure.unless(machine.phase == .closed, "the phase is not closed")
            case .ignore, .control, .refuse:
                break
            }
        }
    }

    /// The first byte selects the message. Checks that a decoded message is encoded so that it decodes to the same
    /// message.
    static func body(_ bytes: [UInt8]) throws(FuzzFailure) {
        guard let first = bytes.first else { return }
        let types = MessageType.allCases
        let type = types[Int(first) % types.count].message
        guard let message = try? type.init(body: ByteBuffer(bytes: bytes.dropFirst())) else { return }
        self.readRows(of: message)
        let body = message.body
        guard let again = try? type.init(body: ByteBuffer(bytes: body)) else {
            throw FuzzFailure("the encoded \(type) cannot be decoded")
        }
        try FuzzFailure.unless(again.body == body, "decoding and encoding \(type) again changes the bytes")
    }

    /// Decodes the rows of a message, for which the reader needs the subscription's number of values.
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
