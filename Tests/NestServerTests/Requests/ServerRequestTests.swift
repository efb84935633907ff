import NIOCore
import NestModel
import NestServerTestSupport
import NestServer
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    /// Requests, pushes and errors over a real socket.
    struct Requests {
        @Test func aPingIsEchoed() async throws {
            try await withServer { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                try connection.send(Ping(payload: 0x0102_0304).frame(id: 0))
                #expect(try connection.expect(Pong.self, id: 0).payload == 0x0102_0304)
            }
        }

        @Test func writesAreAnsweredInOrderWithGrowingRevisions() async throws {
            try await withServer { port, _ in
                let (connection, welcome) = try ServerRawConnection.ready(port: port)
                let count = 4 * Limits.requestsInFlightPerConnectionMax
                var bytes = ByteBuffer()
                for id in 1...UInt32(count) {
                    bytes.writeImmutableBuffer(TransactionMessage(.insert("x")).frame(id: id))
                }
                try connection.send(bytes)
                var previous = welcome.revision
                for id in 1...UInt32(count) {
                    let receipt = try connection.expect(ReceiptMessage.self, id: id).receipt
                    #expect(receipt.revision > previous)
                    previous = receipt.revision
                }
                #expect(previous == Revision(welcome.revision.rawValue + UInt64(count)))
            }
        }

        @Test func diffsReachEverySubscriberBeforeTheWritersReply() async throws {
            try await withServer { port, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                let (reader, _) = try ServerRawConnection.ready(port: port, session: 2)
                var view: UInt32 = 0
                for connection in [writer, reader] {
                    let id = try connection.request(Subscribe(.rootChildren))
                    let subscribed = try connection.expect(Subscribed.self, id: id)
                    view = subscribed.view
                    #expect(subscribed.first == .snapshot)
                    #expect(try connection.expect(SnapshotMessage.self, id: view).header.total == 0)
                }
                let id = try writer.request(TransactionMessage(.insert("Milk", "Bread")))
                let frames = try writer.frames(until: .receipt)
                #expect(frames.last?.id == id)
                #expect(frames.contains { $0.type == MessageType.diff.rawValue && $0.id == view })

                let pushed = try reader.frames(until: .diff)
                let own = try #require(frames.first { $0.type == MessageType.diff.rawValue })
                #expect(pushed.last == own)
            }
        }

        @Test func anInvalidRequestIsRefusedAndTheConnectionStays() async throws {
            try await withServer { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                func error(type: UInt8, flags: UInt8 = 0, id: UInt32, _ body: [UInt8]) throws -> ErrorCode {
                    var frame = ByteBuffer()
                    frame.writeMultipleIntegers(UInt32(body.count), type, flags, UInt16(0), id)
                    frame.writeBytes(body)
                    try connection.send(frame)
                    return try connection.expectError(id: id)
                }
                #expect(try error(type: MessageType.getObject.rawValue, id: 3, []) == .malformed)
                #expect(try error(type: MessageType.getObject.rawValue, id: 3, [1]) == .requestID)
                #expect(try error(type: 0x7f, id: 4, []) == .unsupportedMessage)
                #expect(try error(type: MessageType.getModel.rawValue, flags: 0x02, id: 5, []) == .unsupportedFlag)
                #expect(try error(type: MessageType.getObject.rawValue, id: 6, [0x40, 0xff]) == .notFound)
                var skipped = ByteBuffer()
                skipped.writeMultipleIntegers(UInt32(3), UInt8(0x80), UInt8(0), UInt16(0), UInt32(9))
                skipped.writeBytes([1, 2, 3])
                try connection.send(skipped)
                try connection.send(GetModel().frame(id: 7))
                _ = try connection.expect(ModelMessage.self, id: 7)
            }
        }

        @Test func unframeableBytesCloseTheConnection() async throws {
            try await withServer { port, _ in
                for (header, code) in [
                    ([0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 1], ErrorCode.frameTooLarge),
                    ([0, 0, 0, 0, 0x40, 0, 0, 1, 0, 0, 0, 1], ErrorCode.protocolViolation),
                    ([0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0], ErrorCode.protocolViolation),
                ] as [([UInt8], ErrorCode)] {
                    let (connection, _) = try ServerRawConnection.ready(port: port)
                    // The unread bytes after the header must not prevent the error from arriving.
                    try connection.send(header + [UInt8](repeating: 0, count: 100_000))
                    #expect(try connection.expectError(id: 0) == code)
                    #expect(try connection.frame() == nil)
                }
            }
        }

        @Test func statisticsIncludeServerValues() async throws {
            try await withServer { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let id = try connection.request(GetStatistics())
                let values = try connection.expect(Statistics.self, id: id).values
                #expect(values.first { $0.name == "connections" }?.value == 1)
                #expect(Set(values.map(\.name)).count == values.count)
                #expect(try #require(values.first { $0.name == "memory_resident_bytes" }).value > 1 << 20)
                #expect(values.contains { $0.name == "uptime_seconds" })
                #expect(values.first { $0.name == "commit_batches_60s" }?.value == 0)
            }
        }

        @Test func statisticsCountCommitsAndDeliveries() async throws {
            try await withServer { port, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                let (reader, _) = try ServerRawConnection.ready(port: port, session: 2)
                for connection in [writer, reader] {
                    try connection.request(Subscribe(.rootChildren))
                    _ = try connection.frames(until: .subscribed)
                }
                for title in ["a", "b", "c"] {
                    try writer.request(TransactionMessage(.insert(title)))
                    _ = try writer.frames(until: .receipt)
                }
                func value(_ name: String) throws -> UInt64 {
                    let id = try writer.request(GetStatistics())
                    let values = try writer.expect(Statistics.self, id: id).values
                    return try #require(values.first { $0.name == name }).value
                }
                // The event loops add their counts up about once a second.
                var deliveries: UInt64 = 0
                repeat { deliveries = try value("deliveries") } while deliveries < 8
                // Two subscribers got a first state and three differences each.
                #expect(deliveries == 8)
                #expect(try value("commit_batches_60s") == 3)
                let (median, longest) = (try value("commit_p50_us"), try value("commit_max_us"))
                #expect(median > 0 && median <= longest)
                #expect(try value("commit_p99_us") <= longest)
            }
        }

        @Test func connectionsOfDisconnectedClientsAreReleased() async throws {
            try await withServer { port, _ in
                for number in 0..<50 as Range<UInt64> {
                    let (connection, _) = try ServerRawConnection.ready(port: port, session: number)
                    try connection.request(Subscribe(.rootChildren))
                    try connection.request(TransactionMessage(.insert("x")))
                    if number % 2 == 0 { _ = try connection.frames(until: .receipt) }
                }
                let (connection, _) = try ServerRawConnection.ready(port: port)
                var open: UInt64 = 0
                repeat {
                    let id = try connection.request(GetStatistics())
                    let values = try connection.expect(Statistics.self, id: id).values
                    open = try #require(values.first { $0.name == "connections" }).value
                } while open > 1
            }
        }
    }
}
