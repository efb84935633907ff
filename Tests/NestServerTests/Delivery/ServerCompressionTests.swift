import NIOCore
import NestModel
import NestServerTestSupport
import NestServer
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    /// Compressed frames over real sockets. Only clients that asked for them get them, and all of these get the same
    /// bytes.
    struct Compression {
        /// Returns the frames of the first state as they arrived.
        private static func firstState(_ connection: ServerRawConnection) throws -> [Frame] {
            let id = try connection.request(Subscribe(.rootChildren))
            _ = try connection.expect(Subscribed.self, id: id)
            return try connection.frames(until: .progress).filter { $0.type != MessageType.progress.rawValue }
        }

        /// The unpacked frames are equal, all clients with compression get the same, fewer bytes, and diffs are never
        /// compressed. The larger result is a background snapshot read.
        @Test(arguments: [100, 5_000])
        func compressionSendsTheSameInFewerBytes(_ rowCount: Int) async throws {
            try await withServer { port, _ in
                let (plain, _) = try ServerRawConnection.ready(port: port)
                let asked = try (2...4).map {
                    try ServerRawConnection.ready(port: port, session: $0, features: .all).0
                }
                _ = try plain.request(
                    TransactionMessage(.insert((0..<rowCount).map { "a title like others, number \($0)" }))
                )
                _ = try plain.frames(until: .receipt)
                let expected = try Self.firstState(plain)
                #expect(!expected.contains { $0.flags.contains(.compressed) })
                var first: [Frame]?
                for connection in asked {
                    let frames = try Self.firstState(connection)
                    #expect(frames.contains { $0.flags.contains(.compressed) })
                    #expect(try frames.map { try $0.unpacked(.all) } == expected)
                    let byteCount = frames.reduce(0) { $0 + $1.body.readableBytes }
                    #expect(byteCount < expected.reduce(0) { $0 + $1.body.readableBytes } / 2)
                    if let first { #expect(frames == first) } else { first = frames }
                }
                _ = try plain.request(
                    TransactionMessage(.insert((0..<50).map { "another title like the others, number \($0)" }))
                )
                let diff = try #require(try asked[0].frames(until: .diff).last)
                #expect(diff.body.readableBytes > Limits.frameCompressedBytesMin)
                #expect(!diff.flags.contains(.compressed))
            }
        }

        /// The replies to FETCH and GET_HISTORY.
        @Test func fetchAndHistoryRepliesAreCompressed() async throws {
            try await withServer { port, _ in
                let (asked, welcome) = try ServerRawConnection.ready(port: port, features: .all)
                #expect(welcome.features == .all)
                let (plain, other) = try ServerRawConnection.ready(port: port)
                #expect(other.features == ServerRawConnection.features)
                for number in 0..<60 {
                    _ = try asked.request(TransactionMessage(.insert(["a title like others, number \(number)"])))
                    _ = try asked.frames(until: .receipt)
                }
                for connection in [asked, plain] {
                    let isAsked = connection === asked
                    let id = try connection.request(GetHistory(before: Revision(0), limit: 100, onlyMine: false))
                    let history = try #require(try connection.frames(until: .history).last)
                    #expect(history.flags.contains(.compressed) == isAsked)
                    #expect(history.id == id)
                    let entries = try History(body: history.unpacked(.all).body).entries
                    #expect(entries.count == 60)
                    _ = try connection.request(Fetch(.rootChildren))
                    let rows = try #require(try connection.frames(until: .snapshotRows).last)
                    #expect(rows.flags.contains(.compressed) == isAsked)
                    #expect(try SnapshotRows(body: rows.unpacked(.all).body).rows(valueCount: 1).count == 60)
                }
            }
        }

        /// Large pages of a change subscription are compressed.
        @Test func pagesOfChangesAreCompressed() async throws {
            try await withServer { port, _ in
                let (asked, welcome) = try ServerRawConnection.ready(port: port, features: .all)
                let start = ResumePoint(historyID: welcome.historyID, revision: welcome.revision)
                _ = try asked.request(TransactionMessage(.insert((0..<1_000).map { "title \($0)" })))
                _ = try asked.frames(until: .receipt)
                _ = try asked.request(SubscribeChanges(since: start))
                let page = try #require(try asked.frames(until: .changeSet).last)
                #expect(page.flags.contains(.compressed))
                #expect(try ChangeSetMessage(body: page.unpacked(.all).body).part.objects.count == 1_000)
            }
        }
    }
}
