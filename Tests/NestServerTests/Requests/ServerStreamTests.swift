import NIOCore
import NestModel
import NestServerTestSupport
import NestServer
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    /// Imports and exports of sub-trees over real sockets.
    struct Streams {
        private static let title = PropertyNumber(1)
        private static let request = SubtreeImport(
            entity: EntityNumber(1),
            placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
            properties: [title]
        )
        private static let whole = SubtreeRequest(
            root: ObjectID(1),
            relationship: PropertyNumber(6),
            properties: [title]
        )

        /// Returns an upload's chunks of about `chunkBytes` each, and its end.
        private static func upload(_ rows: [(depth: Int, title: String)], chunkBytes: Int) -> ([[UInt8]], SubtreeEnd) {
            var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
            var checksum = SubtreeChecksum()
            var chunks: [[UInt8]] = []
            for (index, row) in rows.enumerated() {
                writer.append(SubtreeRow(depth: row.depth, id: nil, values: [.string(row.title)]))
                if writer.byteCount >= chunkBytes || index == rows.count - 1 {
                    chunks.append(SubtreeChunk(packing: writer.take(), nil).bytes)
                }
            }
            for chunk in chunks { checksum.add(chunk) }
            return (chunks, SubtreeEnd(rowCount: rows.count, checksum: checksum.value))
        }

        /// Sends the chunks as credit allows and returns the reply's frame.
        private static func send(
            _ chunks: [[UInt8]],
            _ end: SubtreeEnd,
            id: UInt32,
            over connection: ServerRawConnection
        ) throws -> Frame {
            var credit = Limits.creditBytesInitial
            for chunk in chunks {
                while credit < chunk.count {
                    let frame = try #require(try connection.frame())
                    guard frame.type == MessageType.credit.rawValue else { return frame }
                    #expect(frame.id == id)
                    credit += try Credit(body: frame.body).bytes
                }
                credit -= chunk.count
                try connection.send(SubtreeChunk(bytes: chunk).frame(id: id))
            }
            try connection.send(end.frame(id: id))
            while let frame = try connection.frame() {
                if frame.type != MessageType.credit.rawValue { return frame }
            }
            throw ServerRawConnection.Failure(description: "closed before the reply")
        }

        /// Reads a whole export and grants credit for each chunk as it arrives.
        private static func export(
            _ request: SubtreeRequest,
            over connection: ServerRawConnection
        ) throws -> [(depth: Int, title: String)] {
            let id = try connection.request(FetchSubtree(request))
            let start = try connection.expect(SubtreeStart.self, id: id)
            #expect(start.properties == [Self.title])
            var reader = SubtreeChunkReader(valueCount: 1)
            var checksum = SubtreeChecksum()
            var byteCount = 0
            var rows: [(depth: Int, title: String)] = []
            while let frame = try connection.frame() {
                guard frame.type == MessageType.subtreeChunk.rawValue else {
                    let end = try SubtreeEnd(body: frame.body)
                    #expect(end == SubtreeEnd(rowCount: rows.count, checksum: checksum.value))
                    #expect(start.rowCount == rows.count)
                    #expect(start.byteCount == byteCount)
                    return rows
                }
                let chunk = try SubtreeChunk(body: frame.body).bytes
                checksum.add(chunk)
                byteCount += chunk.count
                for row in try reader.rows(of: SubtreeChunk(bytes: chunk).unpacked()) {
                    rows.append((row.depth, row.values[0].stringValue ?? ""))
                }
                try connection.send(Credit(bytes: chunk.count).frame(id: id))
            }
            throw ServerRawConnection.Failure(description: "closed before the end")
        }

        /// A request has one reply. So a part that cannot be decoded ends its transfer with that reply, and a part of a
        /// request that is answered ends the connection.
        @Test func aMalformedPartGetsOneReply() async throws {
            try await withServer { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let id = try connection.request(ImportSubtree(Self.request))
                let (chunks, end) = Self.upload([(0, "a")], chunkBytes: 1)
                try connection.send(SubtreeChunk(bytes: chunks[0]).frame(id: id))
                var malformed = ByteBuffer()
                malformed.writeMultipleIntegers(UInt32(1), MessageType.subtreeEnd.rawValue, UInt8(0), UInt16(0), id)
                malformed.writeInteger(UInt8(1))
                try connection.send(malformed)
                // The upload is gone: a late part of it is ignored.
                try connection.send(end.frame(id: id))
                let next = try connection.request(GetObject(id: ObjectID(1)))
                var replies: [Frame] = []
                while replies.last?.id != next {
                    let frame = try #require(try connection.frame())
                    if frame.type != MessageType.credit.rawValue { replies.append(frame) }
                }
                #expect(replies.map(\.id) == [id, next])
                #expect(try ErrorMessage(body: replies[0].body).error.code == .malformed)
                try connection.send(malformed)
                var last: Frame?
                while let frame = try connection.frame() { last = frame }
                let error = try #require(last)
                #expect(error.id == 0 && error.type == MessageType.error.rawValue)
            }
        }

        @Test func exportedRowsAreTheImportedRows() async throws {
            try await withServer { port, server in
                for seed in 0..<3 as Range<UInt64> {
                    var random = SeededRandom(seed: seed)
                    let (connection, _) = try ServerRawConnection.ready(port: port)
                    var rows: [(depth: Int, title: String)] = []
                    for number in 0..<20_000 {
                        let depth =
                            rows.last.map { Int.random(in: max(0, $0.depth - 3)...$0.depth + 1, using: &random) } ?? 0
                        rows.append(
                            (
                                depth,
                                "\(number) " + String(repeating: "x", count: Int.random(in: 0...200, using: &random))
                            )
                        )
                    }
                    let (chunks, end) = Self.upload(
                        rows,
                        chunkBytes: Int.random(in: 1_000...Limits.chunkBytes, using: &random)
                    )
                    let insert = try connection.request(TransactionMessage(.insert("top \(seed)")))
                    let top = try #require(try connection.expect(ReceiptMessage.self, id: insert).receipt.firstInserted)
                    var request = Self.request
                    request.placement.owner = .object(top)
                    let id = try connection.request(ImportSubtree(request))
                    let reply = try Self.send(chunks, end, id: id, over: connection)
                    #expect(reply.type == MessageType.receipt.rawValue, "seed \(seed)")
                    let receipt = try ReceiptMessage(body: reply.body).receipt
                    #expect(receipt.insertedCount == rows.count, "seed \(seed)")

                    var whole = Self.whole
                    whole.root = top
                    let exported = try Self.export(whole, over: connection)
                    #expect(exported.first?.title == "top \(seed)")
                    #expect(exported.dropFirst().map(\.depth) == rows.map { $0.depth + 1 }, "seed \(seed)")
                    #expect(exported.dropFirst().map(\.title) == rows.map(\.title), "seed \(seed)")
                }
            }
        }

        @Test func aBrokenImportIsRolledBack() async throws {
            try await withServer { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let rows = (0..<1_000).map { (depth: $0 % 5, title: "item \($0)") }
                let (chunks, end) = Self.upload(rows, chunkBytes: 2_000)
                let wrongEnd = SubtreeEnd(rowCount: end.rowCount, checksum: end.checksum ^ 1)
                var wrongChunk = chunks
                wrongChunk[3] = [7, 7]
                for (chunks, end) in [(chunks, wrongEnd), (wrongChunk, end)] {
                    let id = try connection.request(ImportSubtree(Self.request))
                    let reply = try Self.send(chunks, end, id: id, over: connection)
                    #expect(reply.type == MessageType.error.rawValue)
                    #expect(reply.id == id)
                }
                // The server skips the rest of a refused stream, and the connection stays usable.
                let id = try connection.request(ImportSubtree(Self.request))
                let reply = try Self.send(chunks, end, id: id, over: connection)
                #expect(try ReceiptMessage(body: reply.body).receipt.insertedCount == rows.count)
                #expect(try Self.export(Self.whole, over: connection).count == rows.count + 1)
            }
        }

        @Test func anExportWithoutCreditWaitsAndCanBeCancelled() async throws {
            try await withServer { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                var random = SeededRandom(seed: 1)
                // Compression halves their size.
                let rows = (0..<40_000).map { _ in
                    (depth: 0, title: (0..<12).map { _ in String(random.next(), radix: 16) }.joined())
                }
                let (chunks, end) = Self.upload(rows, chunkBytes: Limits.chunkBytes)
                let upload = try connection.request(ImportSubtree(Self.request))
                _ = try ReceiptMessage(body: try Self.send(chunks, end, id: upload, over: connection).body)

                let id = try connection.request(FetchSubtree(Self.whole))
                let start = try connection.expect(SubtreeStart.self, id: id)
                #expect(start.byteCount > 3 * Limits.creditBytesInitial)
                var received = 0
                while received + Limits.chunkBytes + 1_000 <= Limits.creditBytesInitial {
                    received += try connection.expect(SubtreeChunk.self, id: id).bytes.count
                }
                #expect(received <= Limits.creditBytesInitial)
                // The connection stays responsive; chunks sent within the credit may arrive before the PONG.
                try connection.send(Ping(payload: 1).frame(id: 0))
                while let frame = try connection.frame(), frame.type != MessageType.pong.rawValue {
                    received += frame.body.readableBytes
                }
                #expect(received <= Limits.creditBytesInitial)
                try connection.send(Cancel().frame(id: id))
                // A last chunk may still be on its way.
                var answer = try connection.frame()
                while let frame = answer, frame.type == MessageType.subtreeChunk.rawValue {
                    received += frame.body.readableBytes
                    answer = try connection.frame()
                }
                let refusal = try ErrorMessage(body: #require(answer).body)
                #expect(refusal.error.code == .cancelled && answer?.id == id)
                #expect(received <= Limits.creditBytesInitial)
                // The spool file is removed when the last thread releases it.
                var spoolBytes: UInt64?
                repeat {
                    let later = try connection.request(GetStatistics())
                    let values = try connection.expect(Statistics.self, id: later).values
                    spoolBytes = values.first { $0.name == "spool_bytes" }?.value
                } while spoolBytes ?? 1 > 0
                #expect(spoolBytes == 0)
            }
        }

        @Test func anImportCanBeCancelled() async throws {
            try await withServer { port, _ in
                let (connection, welcome) = try ServerRawConnection.ready(port: port)
                let (chunks, end) = Self.upload((0..<100).map { (0, "\($0)") }, chunkBytes: 500)
                let id = try connection.request(ImportSubtree(Self.request))
                try connection.send(SubtreeChunk(bytes: chunks[0]).frame(id: id))
                try connection.send(Cancel().frame(id: id))
                for chunk in chunks.dropFirst() { try connection.send(SubtreeChunk(bytes: chunk).frame(id: id)) }
                try connection.send(end.frame(id: id))
                #expect(try connection.expectError(id: id) == .cancelled)
                let write = try connection.request(TransactionMessage(.insert("next")))
                #expect(try connection.expect(ReceiptMessage.self, id: write).receipt.revision == welcome.revision.next)
            }
        }

        /// Every background snapshot read ends at its deadline, and the connection stays open.
        @Test func backgroundReadsEndAfterTheReadDeadline() async throws {
            try await withServer {
                $0.timing.readTransaction = .zero
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let (chunks, end) = Self.upload(
                    (0...Limits.backgroundReadRowsMin).map { (0, "\($0)") },
                    chunkBytes: Limits.chunkBytes
                )
                let upload = try connection.request(ImportSubtree(Self.request))
                _ = try ReceiptMessage(body: try Self.send(chunks, end, id: upload, over: connection).body)
                func expectTooLong(_ message: some Message) throws {
                    #expect(try connection.expectError(id: connection.request(message)) == .limitExceeded, "\(message)")
                }
                try expectTooLong(FetchSubtree(Self.whole))
                try expectTooLong(BackupRequest())
                try expectTooLong(CheckRequest())
                try expectTooLong(Fetch(.rootChildren))
                try expectTooLong(Subscribe(.rootChildren))
                let write = try connection.request(TransactionMessage(.insert("next")))
                _ = try connection.expect(ReceiptMessage.self, id: write)
            }
        }

        @Test func transfersAreLimited() async throws {
            try await withServer {
                $0.spoolBytesMax = 1_000
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                for _ in 0..<Limits.transfersPerConnectionMax { try connection.request(ImportSubtree(Self.request)) }
                let over = try connection.request(ImportSubtree(Self.request))
                #expect(try connection.expectError(id: over) == .limitExceeded)
                let (chunks, _) = Self.upload((0..<100).map { (0, "a longer title \($0)") }, chunkBytes: 1_500)
                try connection.send(SubtreeChunk(bytes: chunks[0]).frame(id: 1))
                #expect(try connection.expectError(id: 1) == .busy)
            }
        }
    }
}
