import NestClient
import NestModel
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    struct ClientTransferTests {
        private static func rows(_ count: Int) -> [SubtreeRow] {
            (0..<count).map { index in
                SubtreeRow(depth: min(index, 3), id: ObjectID(Int64(index + 1)), values: [.string(Self.title(index))])
            }
        }

        /// Returns a title that compresses badly.
        private static func title(_ index: Int) -> String {
            let hash = fnv1a(Array("\(index)".utf8))
            return "row \(index) \(String(hash, radix: 16))\(String(hash &* 0x9e37_79b9_7f4a_7c15, radix: 16))"
        }

        /// The client grants credit as it consumes chunks, and the server never needs to send more than was granted.
        @Test func aDownloadGrantsCreditAsItIsRead() async throws {
            let rows = Self.rows(60_000)
            let count = try await FakeServer.run { server in
                let credit = Limits.creditBytesInitial
                try await server.welcome(credit: credit)
                let id = try await server.expect(FetchSubtree.self).id
                var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: true)
                var checksum = SubtreeChecksum()
                var left = credit
                try await server.send(
                    SubtreeStart(
                        revision: Revision(3),
                        entity: EntityNumber(1),
                        rowCount: rows.count,
                        byteCount: 0,
                        properties: [PropertyNumber(1)]
                    ),
                    id: id
                )
                for (index, row) in rows.enumerated() {
                    writer.append(row)
                    guard writer.byteCount > 32 << 10 || index == rows.count - 1 else { continue }
                    let chunk = SubtreeChunk(packing: writer.take(), nil).bytes
                    checksum.add(chunk)
                    while left < chunk.count { left += try await server.expect(Credit.self).message.bytes }
                    left -= chunk.count
                    try await server.send(SubtreeChunk(bytes: chunk), id: id)
                }
                try await server.send(SubtreeEnd(rowCount: rows.count, checksum: checksum.value), id: id)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let request = SubtreeRequest(root: ObjectID(1), relationship: PropertyNumber(6))
                    return try await client.fetchSubtree(request) { subtree in
                        var next = 0
                        for try await chunk in subtree {
                            #expect(chunk == Array(rows[next..<next + chunk.count]))
                            next += chunk.count
                        }
                        return next
                    }
                }
            }
            #expect(count == rows.count)
        }

        @Test func anInterruptedDownloadThrows() async throws {
            await #expect { try await Self.download(end: SubtreeEnd(rowCount: 2, checksum: 0)) } throws: { error in
                (error as? NestError)?.code == .checksum
            }
            await #expect { try await Self.download(end: nil) } throws: { error in
                (error as? NestError)?.code == .connectionLost
            }
        }

        private static func download(end: SubtreeEnd?) async throws {
            try await FakeServer.run { server in
                try await server.welcome()
                guard server.number == 0 else { return await server.untilClosed() }
                let id = try await server.expect(FetchSubtree.self).id
                try await server.send(
                    SubtreeStart(
                        revision: Revision(3),
                        entity: EntityNumber(1),
                        rowCount: 1,
                        byteCount: 0,
                        properties: [PropertyNumber(1)]
                    ),
                    id: id
                )
                var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: true)
                writer.append(Self.rows(1)[0])
                try await server.send(SubtreeChunk(packing: writer.take(), nil), id: id)
                guard let end else { return }
                try await server.send(end, id: id)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let request = SubtreeRequest(root: ObjectID(1), relationship: PropertyNumber(6))
                    try await client.fetchSubtree(request) { subtree in
                        for try await _ in subtree {}
                    }
                }
            }
        }

        private static let importRequest = SubtreeImport(
            entity: EntityNumber(1),
            placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
            properties: [PropertyNumber(1)]
        )

        /// An upload waits for credit and arrives complete.
        @Test func anUploadSendsNoMoreThanItsCredit() async throws {
            let rows = Self.rows(40_000).map { SubtreeRow(depth: $0.depth, id: nil, values: $0.values) }
            let receipt = try await FakeServer.run { server in
                let credit = 300 << 10
                try await server.welcome(credit: credit)
                let (id, message) = try await server.expect(ImportSubtree.self)
                #expect(message.request.key != nil)
                var granted = credit
                var received: [SubtreeRow] = []
                var reader = SubtreeChunkReader(valueCount: 1)
                var checksum = SubtreeChecksum()
                while true {
                    let frame = try await server.next()
                    if frame.type == MessageType.subtreeEnd.rawValue {
                        let end = try SubtreeEnd(body: frame.body)
                        #expect(end.rowCount == rows.count && end.checksum == checksum.value)
                        break
                    }
                    let chunk = try SubtreeChunk(body: frame.body).bytes
                    #expect(chunk.count <= Limits.chunkBytes)
                    granted -= chunk.count
                    #expect(granted >= 0)
                    checksum.add(chunk)
                    received += try reader.rows(of: SubtreeChunk(bytes: chunk).unpacked())
                    granted += chunk.count
                    try await server.send(Credit(bytes: chunk.count), id: id)
                }
                #expect(received == rows)
                try await server.send(
                    ReceiptMessage(
                        Receipt(
                            revision: Revision(1),
                            isChanged: true,
                            results: [.init(first: ObjectID(2), count: rows.count)]
                        )
                    ),
                    id: id
                )
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    var next = 0
                    return try await client.importSubtree(Self.importRequest) {
                        defer { next += 1_000 }
                        return next < rows.count ? Array(rows[next..<next + 1_000]) : nil
                    }
                }
            }
            #expect(receipt.insertedCount == rows.count)
        }

        /// An error from the server stops an upload that waits for credit.
        @Test func aRefusedUploadStops() async throws {
            let refusal = NestError(.notFound, "there is no such parent")
            await #expect(throws: refusal) {
                try await FakeServer.run { server in
                    try await server.welcome(credit: 1)
                    let id = try await server.expect(ImportSubtree.self).id
                    try await server.send(ErrorMessage(refusal), id: id)
                    await server.untilClosed()
                } client: { port in
                    try await NestClient.withClient(Fixtures.configuration(port)) { client in
                        _ = try await client.importSubtree(Self.importRequest) { Self.rows(1_000) }
                    }
                }
            }
        }

        /// Before the client sends SUBTREE_END, an upload is certainly not stored; afterwards it may be.
        @Test(arguments: [false, true])
        func anUploadWithoutAReplyHasAnUnknownOutcome(isEnded: Bool) async throws {
            await #expect {
                try await FakeServer.run { server in
                    try await server.welcome(credit: isEnded ? 1 << 20 : 1)
                    guard server.number == 0 else { return await server.untilClosed() }
                    _ = try await server.expect(ImportSubtree.self)
                    guard isEnded else { return }
                    while try await server.next().type != MessageType.subtreeEnd.rawValue {}
                } client: { port in
                    try await NestClient.withClient(Fixtures.configuration(port)) { client in
                        var isAtEnd = false
                        _ = try await client.importSubtree(Self.importRequest) {
                            defer { isAtEnd = true }
                            return isAtEnd ? nil : Self.rows(1_000)
                        }
                    }
                }
            } throws: { error in
                (error as? NestError)?.code == (isEnded ? .outcomeUnknown : .connectionLost)
            }
        }
    }
}
