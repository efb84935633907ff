import NestModel
import NestTestSupport
import NestProtocol
import Testing

@testable import PeerWires

/// The load client's counts do not depend on how TCP splits the peer's bytes.
struct PeerWireTests {
    /// Returns the counts and the reply bytes of a wire that received the bytes in these pieces.
    private static func counted(_ transcript: Transcript, pieces: [ArraySlice<UInt8>]) throws -> (Received, [UInt8]) {
        let wire = transcript.wire()
        var sum = Received()
        var reply: [UInt8] = []
        for piece in pieces {
            let received = try Array(piece).withUnsafeBytes { try wire.take($0, reply: &reply) }
            sum.deliveries += received.deliveries
            sum.answers += received.answers
            #expect(!(sum.isReady && received.isReady), "\(transcript.name): ready twice")
            sum.isReady = sum.isReady || received.isReady
        }
        return (sum, reply)
    }

    @Test func deliveriesAndAnswersAreCounted() throws {
        for transcript in Transcript.all {
            let (sum, reply) = try Self.counted(transcript, pieces: [transcript.bytes[...]])
            #expect(sum.deliveries == transcript.deliveries, "\(transcript.name)")
            #expect(sum.answers == transcript.answers, "\(transcript.name)")
            #expect(sum.isReady, "\(transcript.name)")
            #expect(!reply.isEmpty == transcript.replies, "\(transcript.name)")
        }
    }

    @Test func countsDoNotDependOnOneCut() throws {
        for transcript in Transcript.all {
            let bytes = transcript.bytes
            let whole = try Self.counted(transcript, pieces: [bytes[...]])
            // Long transcripts are mostly bodies that the wire does not parse: test fewer cuts there.
            for cut in 1..<bytes.count where cut < 300 || cut % 97 == 0 || cut > bytes.count - 100 {
                let parts = try Self.counted(transcript, pieces: [bytes[..<cut], bytes[cut...]])
                #expect(parts == whole, "\(transcript.name), cut at \(cut)")
            }
        }
    }

    @Test func countsAreTheSameByteByByte() throws {
        for transcript in Transcript.all {
            let whole = try Self.counted(transcript, pieces: [transcript.bytes[...]])
            let bytes = try Self.counted(transcript, pieces: transcript.bytes.indices.map { transcript.bytes[$0...$0] })
            #expect(bytes == whole, "\(transcript.name)")
        }
    }

    @Test func countsDoNotDependOnRandomCuts() throws {
        for seed in 0..<50 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            for transcript in Transcript.all {
                var rest = transcript.bytes[...]
                var pieces: [ArraySlice<UInt8>] = []
                while !rest.isEmpty {
                    let count = 1 + random.below(min(rest.count, 40 + random.below(5_000)))
                    pieces.append(rest.prefix(count))
                    rest = rest.dropFirst(count)
                }
                let whole = try Self.counted(transcript, pieces: [transcript.bytes[...]])
                #expect(try Self.counted(transcript, pieces: pieces) == whole, "seed \(seed), \(transcript.name)")
            }
        }
    }

    /// A refusal by the peer ends the measurement and is never counted.
    @Test func refusalsOfAPeerAreThrown() {
        let nest = Preface.server(chosen: 1).bytes + NestFrames.frame(ErrorMessage(NestError(.notFound, "gone")), id: 1)
        let trailersOnly =
            HTTP2Frames.frame(.settings, flags: 0, stream: 0, [])
            + HTTP2Frames.frame(.headers, flags: 5, stream: 1, [0x88])
        let refusals: [(any PeerWire, [UInt8])] = [
            (NestSubscriber(), nest),
            (RedisRequester([["GET"]]), Array("-OOM command not allowed\r\n".utf8)),
            (NATSWire(number: 1), Array("-ERR 'Authorization Violation'\r\n".utf8)),
            (NATSWire(number: 1), Array("MSG _INBOX.1 2 12\r\n{\"error\":{}}\r\n".utf8)),
            (GRPCRequester(path: "/a/b") { _ in [] }, trailersOnly),
            (EtcdWatcher(), trailersOnly),
            (PostgresRequester.running(""), PostgresFrames.message("E", Array("SERROR\0Mno\0\0".utf8))),
        ]
        for (wire, bytes) in refusals {
            var reply: [UInt8] = []
            #expect(throws: PeerRefusal.self, "\(wire)") {
                try bytes.withUnsafeBytes { try wire.take($0, reply: &reply) }
            }
        }
    }

    /// An import sends its chunks as credit arrives, each once, and SUBTREE_END after the last chunk.
    @Test func importSendsChunksAsCreditArrives() throws {
        let wire = NestImporter(items: 40_000, title: { "an item, no. \($0)" }, initialCredit: 300_000)
        var output: [UInt8] = []
        wire.appendRequest(to: &output)
        let first = output.count
        #expect(first > 200_000 && first < 301_000)
        var writer = ByteWriter()
        writer.write(count: 1 << 30)
        let credit = Preface.server(chosen: 1).bytes + NestFrames.frame(.credit, id: 1, writer.bytes)
        _ = try credit.withUnsafeBytes { try wire.take($0, reply: &output) }
        #expect(output.count > 600_000)
        #expect(output.suffix(30).contains(MessageType.subtreeEnd.rawValue))
        let whole = output.count
        _ = try NestFrames.frame(.credit, id: 1, writer.bytes).withUnsafeBytes { try wire.take($0, reply: &output) }
        #expect(output.count == whole)
    }
}
