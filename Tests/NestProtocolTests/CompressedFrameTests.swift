import NIOCore
import NestProtocol
import NestModel
import NestTestSupport
import Testing
import NestFraming

extension Vectors.Frame {
    /// Returns the body, decompressed if it is compressed.
    func body() throws -> [UInt8] {
        var buffer = ByteBuffer(bytes: self.bytes)
        let frame = try #require(try FrameDecoder(bodyBytesMax: Limits.frameBytesMax).next(from: &buffer))
        return Array(try frame.unpacked(.all).body.readableBytesView)
    }
}

@Suite struct CompressedFrameTests {
    private static let text = Array("many rows that look like one another, ".utf8)

    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { Self.text[$0 % Self.text.count] } }

    private static func compressed(_ bytes: [UInt8], type: MessageType = .snapshotRows) -> Frame {
        let body = ByteBuffer(bytes: Zstandard.Compressor().compress(bytes))
        return Frame(type: type.rawValue, flags: [.compressed, .more], id: 1, body: body)
    }

    /// The vector of plain rows and the vector of the same rows compressed have the same body.
    @Test func plainAndCompressedVectorsHaveTheSameBody() throws {
        let vectors = try Vectors.frames()
        let plain = try #require(vectors.first { $0.name == "snapshot-rows-many" })
        let packed = try #require(vectors.first { $0.name == "snapshot-rows-compressed" })
        #expect(packed.bytes.count < plain.bytes.count)
        #expect(try packed.body() == Array(plain.bytes.dropFirst(Frame.headerBytes)))
    }

    @Test func unpackingClearsTheFlagAndKeepsTheRest() throws {
        let frame = try Self.compressed(Self.bytes(5_000)).unpacked(.all)
        #expect(frame == Frame(type: 0x34, flags: .more, id: 1, body: ByteBuffer(bytes: Self.bytes(5_000))))
        #expect(try frame.unpacked([]) == frame)
    }

    /// A body of the maximum size is accepted; one byte more is refused.
    @Test func unpackedFramesAreLimitedInSize() throws {
        let max = Limits.frameUnpackedBytesMax
        #expect(try Self.compressed(Self.bytes(max)).unpacked(.all).body.readableBytes == max)
        #expect(throws: WireError.malformed(DecodingFailure(.invalidValue, "compressed body"))) {
            try Self.compressed(Self.bytes(max + 1)).unpacked(.all)
        }
    }

    /// A message type that may not be compressed is refused with the flag. Diffs, chunks and messages of clients may
    /// never be compressed.
    @Test(arguments: MessageType.allCases)
    func onlyCompressibleTypesAreUnpacked(_ type: MessageType) throws {
        let frame = Self.compressed(Self.bytes(2_000), type: type)
        if type.mayBeCompressed {
            #expect(try frame.unpacked(.all).body.readableBytes == 2_000)
        } else {
            #expect(throws: WireError.unsupportedFlag(2)) { try frame.unpacked(.all) }
        }
        #expect(throws: WireError.unsupportedFlag(2)) { try frame.unpacked(.all.subtracting(.compressedFrames)) }
        if [.diff, .subtreeChunk, .fetch, .transaction, .receipt, .error].contains(type) {
            #expect(!type.mayBeCompressed)
        }
    }

    /// A compressed body with bytes changed, inserted or cut off is refused, or unpacks to a body within the limit.
    @Test func damagedBodiesAreRefusedOrWithinTheLimit() {
        let whole = Zstandard.Compressor().compress(Self.bytes(3_000))
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var bytes = whole
            for _ in 0...random.below(3) {
                switch random.below(3) {
                case 0 where !bytes.isEmpty: bytes[random.below(bytes.count)] = UInt8(random.below(256))
                case 1: bytes.insert(UInt8(random.below(256)), at: random.below(bytes.count + 1))
                default: bytes = Array(bytes.prefix(random.below(bytes.count + 1)))
                }
            }
            let frame = Frame(type: 0x34, flags: .compressed, id: 1, body: ByteBuffer(bytes: bytes))
            do throws(WireError) {
                let body = try frame.unpacked(.all).body
                #expect(body.readableBytes <= Limits.frameUnpackedBytesMax, "seed \(seed)")
            } catch {
                #expect(error.nestError.code == .malformed, "seed \(seed)")
            }
        }
    }

    /// Concurrent callers get the same compressed bytes, which decompress to the original.
    @Test func bytesAreCompressedOnce() async throws {
        let shared = SharedBytes(Self.bytes(100_000))
        let results = await withTaskGroup(of: [UInt8]?.self) { group in
            for _ in 0..<16 { group.addTask { shared.compressed(by: Zstandard.Compressor()) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let first = try #require(results.compactMap { $0 }.first)
        #expect(results.allSatisfy { $0 == first })
        #expect(try Zstandard.decompress(first, sizeMax: 100_000) == shared.bytes)
    }

    @Test func bytesThatDoNotShrinkAreNotCompressed() {
        var random = SeededRandom(seed: 1)
        let shared = SharedBytes((0..<4_096).map { _ in UInt8(random.below(256)) })
        #expect(shared.compressed(by: Zstandard.Compressor()) == nil)
    }
}
