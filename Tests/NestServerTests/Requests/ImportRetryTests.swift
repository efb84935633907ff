import NestProtocol
import NestModel
import NestServerTestSupport
import NestServer
import NestStore
import NestTestSupport
import Testing
import NestFraming

/// The server recognises a retried import by its key and rows.
extension SocketTests {
    struct ImportRetries {
        private static func request(_ place: Place = .last) -> SubtreeImport {
            SubtreeImport(
                key: Identifier128(high: 3, low: 4),
                entity: EntityNumber(1),
                placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: place),
                properties: [PropertyNumber(1), PropertyNumber(3)]
            )
        }

        private static let rows = (0..<300).map { number in
            // Long enough to be compressed.
            let title = AttributeValue.string("item \(number)" + String(repeating: " and so on", count: 10))
            return SubtreeRow(depth: number % 4, id: nil, values: [title, .boolean(number % 3 == 0)])
        }

        /// Sends an import and returns its receipt.
        private static func send(
            _ rows: [SubtreeRow],
            perChunk: Int,
            packed: Bool = false,
            _ request: SubtreeImport = Self.request(),
            over connection: ServerRawConnection
        ) throws -> Receipt {
            let id = try connection.request(ImportSubtree(request))
            var writer = SubtreeChunkWriter(valueCount: request.properties.count, hasIDs: false)
            var checksum = SubtreeChecksum()
            for (index, row) in rows.enumerated() {
                writer.append(row)
                guard (index + 1) % perChunk == 0 || index + 1 == rows.count else { continue }
                let chunk = SubtreeChunk(packing: writer.take(), packed ? Zstandard.Compressor() : nil)
                #expect((chunk.bytes[0] == 1) == packed)
                checksum.add(chunk.bytes)
                try connection.send(chunk.frame(id: id))
            }
            try connection.send(SubtreeEnd(rowCount: rows.count, checksum: checksum.value).frame(id: id))
            while let frame = try connection.frame() {
                guard frame.id == id, frame.type != MessageType.credit.rawValue else { continue }
                if frame.type == MessageType.error.rawValue { throw try ErrorMessage(body: frame.body).error }
                return try ReceiptMessage(body: frame.body).receipt
            }
            throw ServerRawConnection.Failure(description: "closed")
        }

        private static func code(_ body: () throws -> Receipt) throws -> ErrorCode? {
            do {
                _ = try body()
                return nil
            } catch let error as NestError {
                return error.code
            }
        }

        @Test func aRetriedImportInOtherChunksGetsTheFirstReply() async throws {
            let directory = TemporaryDirectory()
            let location = Store.Configuration.Location.file(directory.path + "/nest.sqlite")
            let first = try await withServer {
                $0.store = Store.Configuration(location: location, model: .nestedList)
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let first = try Self.send(Self.rows, perChunk: 300, over: connection)
                #expect(first.insertedCount == 300 && !first.isReplayed)
                for (perChunk, packed) in [(300, false), (7, false), (300, true), (64, true)] {
                    let again = try Self.send(Self.rows, perChunk: perChunk, packed: packed, over: connection)
                    #expect(again.isReplayed && again.revision == first.revision && again.results == first.results)
                }
                return first
            }
            // The reply is the same after a restart.
            try await withServer {
                $0.store = Store.Configuration(location: location, model: .nestedList)
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let again = try Self.send(Self.rows, perChunk: 50, packed: true, over: connection)
                #expect(again.isReplayed && again.revision == first.revision && again.results == first.results)
            }
        }

        @Test func aRetriedImportWithOtherRowsIsAnotherRequest() async throws {
            try await withServer { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                _ = try Self.send(Self.rows, perChunk: 100, over: connection)
                var renamed = Self.rows
                renamed[299].values[0] = .string("another")
                var deeper = Self.rows
                deeper[4].depth = 1
                let swapped = [Self.rows[4]] + Self.rows[1..<4] + [Self.rows[0]] + Self.rows[5...]
                for rows in [renamed, deeper, swapped, Array(Self.rows.dropLast())] {
                    let code = try Self.code { try Self.send(rows, perChunk: 100, over: connection) }
                    #expect(code == .keyReused)
                }
                var properties = Self.request()
                properties.properties = [PropertyNumber(2), PropertyNumber(3)]
                var named = Self.request()
                named.name = "another"
                for request in [Self.request(.first), properties, named] {
                    let code = try Self.code { try Self.send(Self.rows, perChunk: 100, request, over: connection) }
                    #expect(code == .keyReused)
                }
            }
        }

        /// A value in a longer valid encoding is the same value.
        @Test func aRetriedImportMayEncodeValuesDifferently() throws {
            func checksum(_ chunk: [UInt8]) throws -> UInt64 {
                var stage = UploadStage(
                    SubtreeImport(
                        entity: EntityNumber(1),
                        placement: Self.request().placement,
                        properties: [PropertyNumber(1)]
                    ),
                    directory: "/tmp",
                    reservation: SpoolReservation(SpoolBudget(bytesMax: 1 << 20))
                )
                let body = [0] + chunk
                try stage.append([body])
                var sum = SubtreeChecksum()
                sum.add(body)
                return try stage.finish(Self.request(), rowCount: 1, checksum: sum.value).checksum
            }
            let short: [UInt8] = [1, 0, 0, 0x81, 0x61]
            #expect(try checksum(short) == checksum([0x40, 1, 0, 0x40, 0, 0x06, 0x40, 1, 0x61]))
            #expect(try checksum(short) != checksum([1, 0, 0, 0x81, 0x62]))
        }
    }
}
