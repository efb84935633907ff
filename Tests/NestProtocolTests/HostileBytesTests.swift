import NIOCore
import NestModel
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

/// Any bytes decode to a message or to a coded error; none trap.
@Suite struct HostileBytesTests {
    /// A body that is cut at any byte is refused as malformed, unless the cut removes exactly its optional end.
    @Test(arguments: try Vectors.frames().filter { !$0.decodesOnly })
    func everyTruncationOfABodyIsRefused(_ vector: Vectors.Frame) throws {
        let type = try #require(MessageCatalogue.type(named: vector.type))
        let body = vector.bytes.dropFirst(Frame.headerBytes)
        let shape = try Shape(vector.fields)
        for count in 0..<body.count {
            let code = try self.refusal(type, Array(body.prefix(count)), shape)
            let isWhole = vector.optionalBytes.contains(body.count - count)
            #expect(code == (isWhole ? nil : .malformed), "\(count) of \(body.count) bytes")
        }
    }

    /// Bytes after the known fields belong to a later version and are ignored. They are refused in a chunk, whose rows
    /// fill the body, and in a body without its optional end, where they are read as that end.
    @Test(arguments: try Vectors.frames())
    func bytesAfterABodyAreIgnored(_ vector: Vectors.Frame) throws {
        let type = try #require(MessageCatalogue.type(named: vector.type))
        let body = ByteBuffer(bytes: try vector.body() + [0xff, 0x00, 0xff])
        if type == .subtreeChunk || Self.withOptionalEnd.contains(type) && !Self.isComplete(vector, type) {
            let code = try self.refusal(type, Array(body.readableBytesView), Shape(vector.fields))
            #expect(code == .malformed || code == .unsupported)
        } else {
            let message = try MessageCatalogue.message(type).init(body: body)
            #expect(try message.fields(as: vector.fields) == vector.fields)
        }
    }

    /// A vector with bytes changed, inserted, removed or cut off is refused, or decodes to a message that round-trips.
    @Test(arguments: try Vectors.frames())
    func mutatedBodiesDecodeOrAreRefused(_ vector: Vectors.Frame) throws {
        let type = try #require(MessageCatalogue.type(named: vector.type))
        let body = try vector.body()
        let shape = try Shape(vector.fields)
        for seed in 0..<1_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            try self.check(type, Self.mutated(body, &random), shape, "seed \(seed)")
        }
    }

    @Test(arguments: MessageType.allCases)
    func randomBodiesDecodeOrAreRefused(_ type: MessageType) throws {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            // Small bytes are more often valid counts and tags, so that decoding continues.
            let bound = random.oneIn(2) ? 256 : 8
            let body = (0..<random.below(64)).map { _ in UInt8(random.below(bound)) }
            let shape = Shape(valueCount: random.below(4), hasWindow: random.oneIn(2))
            try self.check(type, body, shape, "seed \(seed)")
        }
    }

    /// A stream of random bytes or mutated frames decodes to frames, and then fails or waits for more bytes.
    @Test func randomStreamsDecodeOrAreRefused() throws {
        let stream = try Vectors.frames().flatMap(\.bytes)
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let bytes =
                random.oneIn(2)
                ? (0..<random.below(200)).map { _ in UInt8.random(in: 0...255, using: &random) }
                : Self.mutated(stream, &random)
            var buffer = ByteBuffer(bytes: bytes)
            let decoder = FrameDecoder(bodyBytesMax: random.oneIn(2) ? 100 : Limits.frameBytesMax)
            var total = 0
            do throws(WireError) {
                while let frame = try decoder.next(from: &buffer) {
                    total += Frame.headerBytes + frame.body.readableBytes
                    #expect(frame.body.readableBytes <= decoder.bodyBytesMax, "seed \(seed)")
                }
                #expect(total + buffer.readableBytes == bytes.count, "seed \(seed)")
            } catch {
                #expect(error.isFatal, "seed \(seed)")
            }
        }
    }

    @Test func randomPrefacesAreReadOrRefused() {
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let bytes = Self.mutated(Preface.client.bytes, &random)
            var buffer = ByteBuffer(bytes: bytes)
            let isNest = bytes.prefix(4).elementsEqual(Preface.magic.prefix(bytes.count))
            do throws(WireError) {
                let preface = try Preface.read(from: &buffer)
                #expect(isNest && (preface != nil) == (bytes.count >= Preface.byteCount), "seed \(seed)")
            } catch {
                #expect(!isNest && error == .notNest, "seed \(seed)")
            }
        }
    }

    // MARK: Helpers

    private static let withOptionalEnd: Set<MessageType> = [
        .transaction, .undo, .redo, .receipt, .history, .undoPreview, .changeSet, .clients, .createToken, .tokenList,
        .authors, .peerOpen, .getHistory, .own, .model, .applyModel, .modelChanged,
    ]

    /// Whether a vector has every optional part of its message. The users of a receipt follow its conflicts.
    private static func isComplete(_ vector: Vectors.Frame, _ type: MessageType) -> Bool {
        vector.optionalBytes.count >= (type == .receipt ? 2 : 1)
    }

    /// The facts about a body that client and server know from its subscription.
    private struct Shape {
        var valueCount: Int?
        var hasWindow: Bool

        init(valueCount: Int?, hasWindow: Bool) {
            self.valueCount = valueCount
            self.hasWindow = hasWindow
        }

        init(_ fields: JSONValue) throws {
            self.init(
                valueCount: try fields.optional("valueCount")?.int,
                hasWindow: fields.optional("window") != nil
            )
        }
    }

    /// Returns the error code that refuses the body, or `nil` if the body is a message.
    private func refusal(_ type: MessageType, _ body: [UInt8], _ shape: Shape) throws -> ErrorCode? {
        do {
            let bytes = ByteBuffer(bytes: body)
            _ = try MessageCatalogue.decode(
                type,
                body: bytes,
                valueCount: shape.valueCount,
                hasWindow: shape.hasWindow
            )
            return nil
        } catch {
            guard let code = refusalCode(error) else { throw error }
            return code
        }
    }

    private func check(_ type: MessageType, _ body: [UInt8], _ shape: Shape, _ comment: Comment) throws {
        let shape = Shape(valueCount: shape.valueCount ?? 0, hasWindow: shape.hasWindow)
        guard try self.refusal(type, body, shape) == nil else { return }
        let message = try MessageCatalogue.message(type).init(body: ByteBuffer(bytes: body))
        let again = try MessageCatalogue.message(type).init(body: ByteBuffer(bytes: message.body))
        func fields(_ message: any DescribedMessage) throws -> JSONValue {
            try message.fields(valueCount: shape.valueCount ?? 0, hasWindow: shape.hasWindow)
        }
        let (first, second) = (try fields(message), try fields(again))
        #expect(first == second, comment)
    }

    /// Returns the bytes after one to three random edits.
    private static func mutated(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = bytes
        for _ in 0...random.below(3) {
            let at = random.below(bytes.count + 1)
            switch random.below(4) {
            case 0 where at < bytes.count: bytes[at] = UInt8.random(in: 0...255, using: &random)
            case 1 where at < bytes.count: bytes[at] ^= 1 << UInt8(random.below(8))
            case 2 where at < bytes.count: bytes.removeSubrange(at..<min(bytes.count, at + 1 + random.below(4)))
            case 3 where random.oneIn(3): bytes.removeLast(bytes.count - at)
            default: bytes.insert(contentsOf: [0xff, 0, 0x80, 0x40].prefix(1 + random.below(4)), at: at)
            }
        }
        return bytes
    }
}

/// Returns the protocol's code for an error of a decoder, or `nil` for any other error.
func refusalCode(_ error: any Error) -> ErrorCode? {
    switch error {
    case let error as WireError: error.nestError.code
    case let error as DecodingFailure: error.code
    default: nil
    }
}
