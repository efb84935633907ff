import NIOCore
import NestModel
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

@Suite struct FrameDecoderTests {
    /// Returns the frames in the segments, which arrive one after the other as from a socket.
    private func frames(of segments: [ArraySlice<UInt8>]) throws -> [Frame] {
        let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesMax)
        var buffer = ByteBuffer()
        var frames: [Frame] = []
        for segment in segments {
            buffer.writeBytes(segment)
            while let frame = try decoder.next(from: &buffer) { frames.append(frame) }
        }
        #expect(buffer.readableBytes == 0)
        return frames
    }

    /// A frame that is cut in two at any byte, or that arrives byte by byte, decodes to the same frame.
    @Test(arguments: try Vectors.frames())
    func everySplitGivesTheSameFrame(_ vector: Vectors.Frame) throws {
        let whole = try self.frames(of: [vector.bytes[...]])
        #expect(whole.count == 1)
        for cut in 1..<vector.bytes.count {
            #expect(try self.frames(of: [vector.bytes[..<cut], vector.bytes[cut...]]) == whole, "cut at \(cut)")
        }
        #expect(try self.frames(of: vector.bytes.indices.map { vector.bytes[$0...$0] }) == whole)
    }

    /// A stream of all frames, cut into segments of any size, decodes to all frames in order.
    @Test func everySegmentationOfAStreamGivesTheSameFrames() throws {
        let stream = try Vectors.frames().flatMap(\.bytes)
        let whole = try self.frames(of: [stream[...]])
        #expect(whole.count == (try Vectors.frames().count))
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let largest = 1 + random.below(random.oneIn(2) ? 8 : 600)
            var segments: [ArraySlice<UInt8>] = []
            var start = 0
            while start < stream.count {
                let end = min(stream.count, start + 1 + random.below(largest))
                segments.append(stream[start..<end])
                start = end
            }
            #expect(try self.frames(of: segments) == whole, "seed \(seed)")
        }
    }

    /// A length over the limit is refused when the header is complete, before any byte of the body. A body of exactly
    /// the limit is awaited.
    @Test(arguments: [Limits.frameBytesBeforeWelcomeMax, Limits.frameBytesMax])
    func anOversizeLengthIsRefusedFromTheHeader(max: Int) throws {
        let decoder = FrameDecoder(bodyBytesMax: max)
        for length in [UInt32(max) + 1, UInt32(max) * 2, 1 << 31, .max] {
            var header = ByteBuffer()
            header.writeMultipleIntegers(length, UInt8(0x10), UInt8(0), UInt16(0), UInt32(1))
            #expect(throws: WireError.frameTooLarge(bytes: length, max: max)) { () throws in
                _ = try decoder.next(from: &header)
            }
        }
        var atTheLimit = ByteBuffer()
        atTheLimit.writeMultipleIntegers(UInt32(max), UInt8(0x10), UInt8(0), UInt16(0), UInt32(1))
        #expect(try decoder.next(from: &atTheLimit) == nil)
        #expect(atTheLimit.readableBytes == Frame.headerBytes)
    }

    @Test func anIncompleteHeaderIsAwaited() throws {
        for count in 0..<Frame.headerBytes {
            var buffer = ByteBuffer(repeating: 0xff, count: count)
            #expect(try FrameDecoder(bodyBytesMax: 10).next(from: &buffer) == nil)
        }
    }

    @Test func typesFrom0x80AreIgnorable() {
        #expect(!Frame(type: 0x7f, id: 1).isIgnorable)
        #expect(Frame(type: 0x80, id: 1).isIgnorable)
        #expect(
            MessageType.allCases.filter { $0.rawValue >= 0x80 } == [
                .own, .presence, .authors, .peerPresence, .resultTotals, .modelChanged,
            ]
        )
    }

    /// The client's preface has eight bytes. It is read once, wherever it is cut.
    @Test func prefacesAreReadFromAnySegments() throws {
        let bytes = Preface.client.bytes
        #expect(bytes == [0x4e, 0x45, 0x53, 0x54, 1, 1, 0, 0])
        #expect(Preface.server(chosen: 1).bytes == [0x4e, 0x45, 0x53, 0x54, 1, 1, 1, 0])
        for cut in 0..<bytes.count {
            var buffer = ByteBuffer(bytes: bytes[..<cut])
            #expect(try Preface.read(from: &buffer) == nil)
            buffer.writeBytes(bytes[cut...] + [0xaa])
            #expect(try Preface.read(from: &buffer) == Preface.client)
            #expect(buffer.readableBytes == 1)
        }
    }

    @Test func theHighestCommonVersionIsChosen() {
        #expect(Preface.version(clientHighest: 1, clientLowest: 1) == 1)
        #expect(Preface.version(clientHighest: 9, clientLowest: 1) == 1)
        #expect(Preface.version(clientHighest: 9, clientLowest: 2) == nil)
        #expect(Preface.version(clientHighest: 0, clientLowest: 0) == nil)
    }
}
