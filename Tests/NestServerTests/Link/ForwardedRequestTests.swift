import NIOCore
import NestEngine
import NestFraming
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

@testable import NestServer

@Suite struct ForwardedRequestTests {
    /// The leader decodes what a client of the follower requested: with the same key and the same hash, so that a retry
    /// at any node is recognised.
    @Test(arguments: Seeds.range(1..<9)) func theLeaderGetsTheRequestOfTheClient(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let graph = NaiveGraph(newStoreOf: .nestedList)
        for number in 0..<40 {
            let request = self.request(on: graph, &random)
            let forwarded = PeerRequest(
                port: 3,
                group: UInt64(number % 3),
                isAgain: random.oneIn(2),
                request: request.type,
                bytes: request.forwardedBody
            )
            let received = try PeerRequest(body: ByteBuffer(bytes: forwarded.body))
            #expect(received == forwarded)
            let type = try #require(MessageType(rawValue: received.request))
            let decoded = try #require(try EngineRequest(type: type, body: ByteBuffer(bytes: received.bytes)))
            #expect(decoded.type == request.type, "NEST_SEED=\(seed)")
            #expect(decoded.keyAndHash == request.keyAndHash, "NEST_SEED=\(seed)")
            #expect(decoded.forwardedBody == request.forwardedBody, "NEST_SEED=\(seed)")
        }
    }

    private func request(on graph: NaiveGraph, _ random: inout SeededRandom) -> EngineRequest {
        let key = random.oneIn(4) ? nil : Identifier128(high: random.next(), low: random.next())
        let options = UndoOptions(
            policy: UndoOptions.Policy.allCases.randomElement(using: &random)!,
            rehomes: random.oneIn(2)
        )
        let revision = Revision(UInt64(1 + random.below(1_000_000)))
        switch random.below(9) {
        case 0: return .undo(key: key, options, expected: random.oneIn(2) ? revision : nil)
        case 1: return .redo(key: key, options, expected: random.oneIn(2) ? revision : nil)
        case 2: return .revert(key: key, options, revision, ofAnyone: random.oneIn(2))
        case 3: return .beginGroup(name: random.oneIn(2) ? "group" : nil, joined: random.oneIn(2) ? 7 : nil)
        case 4: return .endGroup
        case 5:
            let grant = TokenGrant(name: "phone", role: .write)
            return .createToken(grant, secretHash: .random(using: &random))
        case 6: return .revokeToken(random.next() >> 8)
        default:
            let mutations = RandomTransaction.make(on: graph, time: 1, &random)
            return .transaction(WriteTransaction(name: random.oneIn(2) ? "name" : nil, key: key, mutations: mutations))
        }
    }

    /// The rows of an import go from the spool file to the leader as credit allows, and are the same there.
    @Test(arguments: [false, true]) func anImportArrivesWhole(isLarge: Bool) throws {
        let directory = TemporaryDirectory(inMemory: true)
        let request = SubtreeImport(
            key: Identifier128(high: 1, low: 2),
            name: "import",
            entity: EntityNumber(1),
            placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
            properties: [PropertyNumber(1)]
        )
        func stage() -> UploadStage {
            let budget = SpoolBudget(bytesMax: 1 << 30)
            return UploadStage(request, directory: directory.path, reservation: SpoolReservation(budget))
        }
        var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
        var checksum = SubtreeChecksum()
        var client = stage()
        var rowCount = 0
        for number in 0..<6 {
            func append(_ byteCount: Int, to writer: inout SubtreeChunkWriter) {
                let text = String(repeating: "\(number)", count: byteCount)
                writer.append(SubtreeRow(depth: min(number, 2), id: nil, values: [.string(text)]))
                rowCount += 1
            }
            append(60_000, to: &writer)
            if isLarge, number == 3 {
                // The largest chunk that a client may send: it fits into a frame only if it is compressed.
                for _ in 0..<16 { append(60_000, to: &writer) }
                var probe = writer
                append(20_000, to: &probe)
                rowCount -= 1
                append(20_000 + Limits.chunkUnpackedBytesMax - probe.take().count, to: &writer)
            }
            let rows = writer.take()
            #expect(!isLarge || number != 3 || rows.count == Limits.chunkUnpackedBytesMax)
            let chunk = SubtreeChunk(packing: rows, Zstandard.Compressor())
            checksum.add(chunk.bytes)
            try client.append([chunk.bytes])
        }
        let staged = try client.finish(request, rowCount: rowCount, checksum: checksum.value)

        let initial = 100_000
        var upload = LinkUpload(staged, credit: initial)
        var (leader, credit, held) = (stage(), initial, 0)
        var end: SubtreeEnd?
        while end == nil {
            switch upload.next() {
            case .none:
                // The leader gives credit for what it has staged, and for more when a chunk needs it.
                credit += 61_000
                held += 1
                upload.granted(61_000)
            case .read(let chunks, let offset): upload.read(try LinkUpload.chunk(of: chunks, at: offset))
            case .send(let chunk):
                #expect(chunk.bytes.count <= min(credit, Limits.frameBytesMax))
                credit -= chunk.bytes.count
                try leader.append([chunk.bytes])
            case .end(let sent): end = sent
            }
        }
        #expect(held > 2)
        if case .none = upload.next() {} else { Issue.record("the upload goes on behind its end") }
        let sent = try #require(end)
        let arrived = try leader.finish(request, rowCount: sent.rowCount, checksum: sent.checksum)
        #expect(arrived.checksum == staged.checksum)
        #expect(EngineRequest.importSubtree(arrived).keyAndHash == EngineRequest.importSubtree(staged).keyAndHash)
    }
}

extension EngineRequest {
    fileprivate struct KeyAndHash: Equatable {
        var key: Identifier128?
        var hash: UInt64?
    }

    fileprivate var keyAndHash: KeyAndHash {
        switch self {
        case .transaction(let transaction, let hash): KeyAndHash(key: transaction.key, hash: hash)
        case .undo(let key, _, _, let hash), .redo(let key, _, _, let hash), .revert(let key, _, _, _, let hash):
            KeyAndHash(key: key, hash: hash)
        case .importSubtree(let staged, let hash): KeyAndHash(key: staged.request.key, hash: hash)
        default: KeyAndHash()
        }
    }
}
