import NestClient
import NestModel
import NestTestSupport
import Testing
import NestSchema

extension ProcessTests {
    @Suite struct UndoCrashes {
        /// Repeated `kill -9` during undos and redos of several sessions: each is stored wholly or not at all, the
        /// stacks are as acknowledged, and a retry is executed once. To replay a failure, put its seed alone in the
        /// list.
        @Test(arguments: Array(1...3) as [UInt64])
        func aKilledUndoIsStoredWhollyOrNotAtAll(seed: UInt64) async throws {
            var random = SeededRandom(seed: seed)
            let server = try await ServerProcess.started()
            let observer = NestClient(await server.configuration())
            let progress = ProgressCounter()
            var users: [UndoCrashUser] = []
            for number in 0..<4 {
                let insert = WriteTransaction(mutations: [Item.insert("list \(number)", under: Item.root)])
                let list = try #require(try await observer.transaction(insert).firstInserted)
                users.append(
                    await UndoCrashUser("u\(number)", seed: seed << 8 | UInt64(number), list: list, server, progress)
                )
            }
            for round in 0..<4 {
                let target = await progress.count + 30 + random.below(60)
                let pause = random.below(4_000)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for user in users { group.addTask { try await user.run() } }
                    try await progress.wait(for: target)
                    // Kill not only immediately after a reply.
                    try await Task.sleep(for: .microseconds(pause))
                    try await server.killNow()
                    for user in users { await user.giveUpConnection() }
                    try await group.waitForAll()
                }
                try await server.start()
                for user in users {
                    await user.reconnect()
                    let fault = try await user.fault()
                    #expect(fault == nil, "seed \(seed), round \(round)")
                }
            }
            // Retry unanswered requests with their keys; then undo and redo everything.
            var undone = 0
            for user in users {
                await user.stop()
                try await user.finish()
                let fault = try await user.faultOfUndoAndRedoOfAll()
                #expect(fault == nil, "seed \(seed)")
                undone += await user.undoneCount
                await user.close()
            }
            #expect(undone > 20, "seed \(seed)")
            await observer.close()
            try await server.terminate()
            let layout = ModelLayout(.nestedList)
            let file = try StoredFile(server.storePath)
            let broken = try StoredInvariants(layout).broken(in: file, head: Revision(UInt64.max >> 1))
            #expect(broken == [], "seed \(seed)")
        }
    }
}
