import NIOCore
import NestModel
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

@Suite struct FrameVectorTests {
    /// The bytes of a vector are one frame. Its body decodes to all of the vector's fields, and the decoded message
    /// encodes to the same bytes.
    @Test(arguments: try Vectors.frames())
    func bytesDecodeToTheFieldsAndBack(_ vector: Vectors.Frame) throws {
        var input = ByteBuffer(bytes: vector.bytes)
        let frame = try #require(try FrameDecoder(bodyBytesMax: Limits.frameBytesMax).next(from: &input))
        #expect(input.readableBytes == 0)
        let type = try #require(MessageCatalogue.type(named: vector.type))
        #expect(frame.type == type.rawValue)
        #expect(frame.id == vector.id)
        #expect(frame.flags.rawValue == vector.flags)

        let message = try MessageCatalogue.message(type).init(body: try frame.unpacked(.all).body)
        #expect(try message.fields(as: vector.fields) == vector.fields)

        let output = message.frame(id: frame.id, flags: frame.flags)
        #expect(
            (Array(output.readableBytesView) == vector.bytes) != vector.decodesOnly,
            "\(output.hexDump(format: .plain))"
        )
        #expect(Array(message.body) == Array(output.readableBytesView.dropFirst(Frame.headerBytes)))
    }

    @Test func everyMessageTypeHasAVector() throws {
        let named = Set(try Vectors.frames().map(\.type))
        #expect(named == Set(MessageType.allCases.map { "\($0)" }))
    }

    @Test func vectorNamesAreDistinct() throws {
        let names = try Vectors.frames().map(\.name)
        #expect(Set(names).count == names.count)
    }

    /// Requests and views have separate ranges of ids. Only messages without a request or view have the id 0.
    @Test(arguments: try Vectors.frames())
    func idsAreInTheRangeOfTheirMessageType(_ vector: Vectors.Frame) throws {
        // A snapshot and totals belong to a view or answer a fetch.
        let ofEither = ["snapshot", "snapshotSections", "snapshotRows", "resultTotals"]
        let ofAView = ["diff", "totals", "subscriptionEnd", "changeSet"]
        if !ofEither.contains(vector.type) {
            #expect((vector.id >= Limits.viewIDMin) == ofAView.contains(vector.type))
        }
        #expect(vector.id >= Limits.viewIDMin || vector.id <= Limits.requestIDMax)
        let withoutRequest = [
            "hello", "welcome", "goAway", "ping", "pong", "progress", "own", "authors", "peerOpen", "peerClose",
            "presence", "peerPresence", "modelChanged",
        ]
        let withOrWithout = ["error", "undoState"]
        if !withOrWithout.contains(vector.type) {
            #expect((vector.id == 0) == withoutRequest.contains(vector.type))
        }
    }

    /// Decoding does not depend on the offset of the bytes in the buffer.
    @Test func bodiesDecodeFromTheMiddleOfABuffer() throws {
        for vector in try Vectors.frames() {
            var input = ByteBuffer(bytes: [1, 2, 3] + vector.bytes + [9, 9, 9])
            input.moveReaderIndex(forwardBy: 3)
            let frame = try #require(try FrameDecoder(bodyBytesMax: Limits.frameBytesMax).next(from: &input))
            let type = try #require(MessageCatalogue.type(named: vector.type))
            let message = try MessageCatalogue.message(type).init(body: try frame.unpacked(.all).body)
            #expect(try message.fields(as: vector.fields) == vector.fields, "\(vector.name)")
            #expect(input.readableBytes == 3)
        }
    }
}
