import NestClient
import NestModel
import NestServerTestSupport
import NestServer
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    @Suite struct Following {
        /// While a client does not read, the server reads only as many pages of a long journal as the sockets hold. It
        /// continues when the client reads.
        @Test func aSlowFollowerIsServedOnePageAtATime() async throws {
            let count: UInt64 = 6_000
            try await withServer {
                $0.socketSendBytes = 16 << 10
            } _: { port, _ in
                try await NestClient.withClient(ClientConfiguration(port: port, clientName: "test", session: .fresh)) {
                    client in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 0..<count {
                            var transaction = WriteTransaction.insert("row \(number)")
                            transaction.name = String(repeating: "n", count: 240) + "\(number)"
                            group.addTask { [transaction] in _ = try await client.transaction(transaction) }
                        }
                        try await group.waitForAll()
                    }
                    func statistic(_ name: String) async throws -> UInt64? {
                        try await client.statistics().first { $0.name == name }?.value
                    }
                    let (slow, welcome) = try ServerRawConnection.ready(port: port, session: 2, receiveBytes: 8 << 10)
                    let since = ResumePoint(historyID: welcome.historyID, revision: Revision(0))
                    let id = try slow.request(SubscribeChanges(since: since))
                    #expect(try slow.expect(Subscribed.self, id: id).first == .current(Revision(0)))
                    // A page's frames have about as many bytes as the page. The sockets hold at most about this many
                    // pages.
                    let pagesMax = UInt64(2 * Limits.socketBytesHigh / Limits.changePageBytes) + 4
                    for number in 0..<50 {
                        _ = try await client.transaction(.insert("late \(number)"))
                        #expect(try #require(try await statistic("change_pages_read")) <= pagesMax)
                    }

                    var next = Revision(1)
                    while next.rawValue <= count + 50, let frame = try slow.frame() {
                        // The server sent pings while the client did not read.
                        if frame.type == MessageType.ping.rawValue { continue }
                        #expect(frame.type == MessageType.changeSet.rawValue && frame.id == Limits.viewIDMin)
                        let part = try ChangeSetMessage(body: frame.body).part
                        #expect(part.revision == next && !part.hasMore && part.objects.count == 1)
                        next = next.next
                    }
                    #expect(try slow.expect(Progress.self, id: 0).revision == Revision(count + 50))
                    #expect(try #require(try await statistic("change_pages_read")) > pagesMax + 5)
                }
            }
        }
    }
}
