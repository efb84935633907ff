import NIOCore
import NestModel
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

@Suite struct NegativeVectorTests {
    /// An invalid stream is refused with the expected code. An incomplete one is awaited.
    @Test(arguments: try Vectors.negative("frame"))
    func framesAreRefusedOrAwaited(_ vector: Vectors.Negative) throws {
        var buffer = ByteBuffer(bytes: try Hex.bytes(vector.json["hex"].text))
        let decoder = FrameDecoder(bodyBytesMax: try vector.json["bodyBytesMax"].int)
        try self.expect(vector) {
            let frame = try decoder.next(from: &buffer)
            #expect(frame == nil)
        }
    }

    /// A complete frame with the compression flag is refused if it may not be compressed or is not.
    @Test(arguments: try Vectors.negative("compressed"))
    func compressedFramesAreRefused(_ vector: Vectors.Negative) throws {
        var buffer = ByteBuffer(bytes: try Hex.bytes(vector.json["hex"].text))
        let frame = try #require(try FrameDecoder(bodyBytesMax: Limits.frameBytesMax).next(from: &buffer))
        #expect(buffer.readableBytes == 0)
        let features = Features(rawValue: UInt64(try vector.json["features"].int))
        try self.expect(vector) { _ = try frame.unpacked(features) }
    }

    @Test(arguments: try Vectors.negative("preface"))
    func prefacesAreRefusedOrAwaited(_ vector: Vectors.Negative) throws {
        var buffer = ByteBuffer(bytes: try Hex.bytes(vector.json["hex"].text))
        try self.expect(vector) {
            let preface = try Preface.read(from: &buffer)
            #expect(preface == nil)
        }
    }

    @Test(arguments: try Vectors.negative("message"))
    func messagesAreRefused(_ vector: Vectors.Negative) throws {
        let type = try #require(MessageCatalogue.type(named: try vector.json["type"].text))
        let body = ByteBuffer(bytes: try Hex.bytes(vector.json["hex"].text))
        let valueCount = try vector.json.optional("valueCount")?.int
        let hasWindow = vector.json.optional("hasWindow")?.isTrue ?? false
        try self.expect(vector) {
            _ = try MessageCatalogue.decode(type, body: body, valueCount: valueCount, hasWindow: hasWindow)
        }
    }

    @Test(arguments: try Vectors.negative("value"))
    func valuesAreRefused(_ vector: Vectors.Negative) throws {
        let bytes = try Hex.bytes(vector.json["hex"].text)
        try self.expect(vector) {
            _ = try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in try reader.value("value") }
        }
    }

    /// The bytes that a connection vector sends are a preface and frames that fit the expected answer.
    /// `ConversationVectorTests` plays the vectors against a server.
    @Test(arguments: try Vectors.negative("connection"))
    func conversationsConsistOfAPrefaceAndFrames(_ vector: Vectors.Negative) throws {
        let expected = try vector.json["expect"]
        var buffer = ByteBuffer(bytes: try vector.json["send"].elements.flatMap { try Hex.bytes($0.text) })
        let preface = try #require(try Preface.read(from: &buffer))
        var decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesBeforeWelcomeMax)
        var last: Frame?
        do throws(WireError) {
            while let frame = try decoder.next(from: &buffer) {
                if frame.type == MessageType.hello.rawValue { decoder.bodyBytesMax = Limits.frameBytesMax }
                last = frame
            }
            #expect(buffer.readableBytes == 0)
        } catch {
            let code = try? expected["code"].text
            #expect("\(error.nestError.code)" == code)
        }
        if let answer = expected.optional("preface") {
            #expect(try Hex.bytes(answer.text) == Preface.server(chosen: 0).bytes)
            #expect(Preface.version(clientHighest: preface.bytes[4], clientLowest: preface.bytes[5]) == nil)
        } else {
            let code = try expected["code"].text
            #expect(ErrorCode.all.contains { "\($0)" == code })
            let id = try expected["id"].int
            #expect(id == 0 || id == Int(last?.id ?? 0))
        }
    }

    private func expect(_ vector: Vectors.Negative, _ body: () throws -> Void) throws {
        guard case .string(let expected) = try vector.json["expect"] else { return try body() }
        do {
            try body()
            Issue.record("\(vector) is accepted")
        } catch {
            let code = try #require(refusalCode(error), "\(error)")
            #expect("\(code)" == expected)
        }
    }
}
