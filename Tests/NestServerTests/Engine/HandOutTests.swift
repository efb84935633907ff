import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestSchema
import NestServer
import NestStore
import NestTestSupport
import Testing

extension SocketTests {
    /// What the engine hands out survives a power loss, although the log is synced on another thread.
    struct HandOutTests {
        private static let connectionCount = 4

        /// What was handed out, and the number of operations of the disk until then.
        private struct HandedOut: Sendable {
            var receipts: [Revision] = []
            var moments: [(revision: Revision, eventCount: Int)] = []
            var failure: StoreError?
            /// Batches that were delivered behind a gate.
            var aheadCount = 0
        }

        private static func insert(_ title: String) -> WriteTransaction {
            WriteTransaction(mutations: [
                .insert(
                    entity: EntityNumber(1),
                    values: [PropertyAssignment(PropertyNumber(1), .value(.string(title)))],
                    placements: [Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last)]
                )
            ])
        }

        /// An engine on a disk that records its operations and may fail.
        private struct Engine {
            let directory = TemporaryDirectory(inMemory: true)
            let disk: FaultyDisk
            let thread: EngineThread
            let gate = EngineGate()
            let handedOut = NIOLockedValueBox(HandedOut())

            /// `isAhead`: whether small batches are delivered behind a gate, before the sync.
            init(checkpointPages: Int = 50, isAhead: Bool = false) async throws {
                let (disk, gate, handedOut) = (FaultyDisk(watching: self.directory.path), self.gate, self.handedOut)
                self.disk = disk
                self.thread = EngineThread { gate.pass($0, $1) }
                var configuration = Store.Configuration(
                    location: .file("\(self.directory.path)/nest.sqlite"),
                    model: .nestedList
                )
                configuration.checkpointPages = checkpointPages
                _ = try await self.thread.start(
                    configuration,
                    limits: EngineLimits(diskFreeBytesMin: 0),
                    readTransaction: .seconds(600),
                    memory: EngineMemory(),
                    sendingAhead: SendingAhead(isOn: isAhead, pause: 0)
                ) { delivery in
                    let note = { @Sendable in
                        let count = disk.eventCount
                        for case .reply(_, _, .receipt(let receipt)) in delivery.effects {
                            handedOut.withLockedValue { state in
                                state.receipts.append(receipt.revision)
                                state.moments.append((receipt.revision, count))
                            }
                        }
                    }
                    guard let gate = delivery.gate else { return note() }
                    handedOut.withLockedValue { $0.aheadCount += 1 }
                    precondition(gate.whenOpen(note), "the engine's thread has not opened the gate yet")
                } failed: { failure in
                    handedOut.withLockedValue { $0.failure = $0.failure ?? failure }
                }
                for number in 1...SocketTests.HandOutTests.connectionCount {
                    let session = Identifier128(high: 1, low: UInt64(number))
                    self.thread.submit([.connected(.init(UInt64(number)), session: session, scope: .everything)])
                }
            }

            func submit(_ number: Int, requestID: Int) {
                let write = SocketTests.HandOutTests.insert("\(number) \(requestID)")
                self.thread.submit([.request(.init(UInt64(number)), requestID: UInt32(requestID), .transaction(write))])
            }

            func waitForReceipts(_ count: Int) async throws {
                try await waitUntil("\(count) receipts", every: .milliseconds(1)) {
                    self.handedOut.withLockedValue { $0.receipts.count } == count
                }
            }

            /// Returns how many moments were handed out before they were durable.
            func lostMoments(isSynced: Bool) throws -> Int {
                var replay = CrashStates(self.disk.events, isSynced: isSynced)
                let moments = self.handedOut.withLockedValue { $0.moments }
                // Opening a store takes long: some of many.
                let step = max(1, moments.count / 40)
                var lost = 0
                for (revision, eventCount) in moments.enumerated().filter({ $0.offset % step == 0 }).map(\.element) {
                    replay.advance(to: eventCount)
                    do {
                        if try Self.head(of: replay.durable()) < revision { lost += 1 }
                    } catch StoreError.notAStore {
                        lost += 1
                    }
                }
                return lost
            }

            private static func head(of files: [String: [UInt8]]) throws -> Revision {
                let directory = TemporaryDirectory(inMemory: true)
                for (name, bytes) in files where !name.hasSuffix("-shm") {
                    FileBytes.write(bytes, to: "\(directory.path)/\(name)")
                }
                let location = Store.Configuration.Location.file("\(directory.path)/nest.sqlite")
                let configuration = Store.Configuration(location: location, model: .nestedList)
                let store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 2))
                defer { try? store.close() }
                return store.head
            }
        }

        /// Writes in bursts, so that some turns find more in the mailbox and others do not.
        @Test(arguments: [false, true]) func whatIsHandedOutIsDurable(isAhead: Bool) async throws {
            let engine = try await Engine(isAhead: isAhead)
            var random = SeededRandom(seed: 7)
            var count = 0
            for round in 0..<60 {
                for _ in 0...random.below(6) {
                    count += 1
                    engine.submit(1 + random.below(Self.connectionCount), requestID: count)
                }
                // A client with many writes in flight: the engine performs them in two batches.
                for _ in 0..<(round % 10 == 9 ? 64 : 0) {
                    count += 1
                    engine.submit(1, requestID: count)
                }
                if random.oneIn(3) { try await Task.sleep(for: .milliseconds(1)) }
                // After that the engine has nothing to do, and the next turn may go ahead.
                if random.oneIn(3) { try await engine.waitForReceipts(count) }
            }
            try await engine.waitForReceipts(count)
            try await engine.thread.stop()
            let receipts = engine.handedOut.withLockedValue { $0.receipts }
            #expect(receipts == receipts.sorted())
            #expect((engine.handedOut.withLockedValue { $0.aheadCount } > 0) == isAhead)
            #expect(try engine.lostMoments(isSynced: true) == 0)
            // Tests the test.
            #expect(try engine.lostMoments(isSynced: false) > 0)
        }

        /// The engine's thread syncs, and fails once. A checkpoint is due, but would sync anew, and succeed.
        @Test(arguments: [false, true]) func afterAFailedSyncTheFileIsLeftAlone(isAhead: Bool) async throws {
            let engine = try await Engine(checkpointPages: 1, isAhead: isAhead)
            engine.submit(1, requestID: 1)
            try await engine.waitForReceipts(1)
            // The checkpoint after it has ended when the next turn begins. The commit after a checkpoint also syncs the
            // head of the log, so the fault is set when the next turn has committed.
            engine.gate.holdNextWrite(.performed)
            engine.submit(1, requestID: 2)
            try engine.gate.waitUntilHeld()
            let count = engine.disk.eventCount
            engine.disk.set(.init([.sync], number: 1, .inputOutput, isLasting: false))
            engine.gate.open()
            try await waitUntil("the failure") { engine.handedOut.withLockedValue { $0.failure != nil } }
            try await engine.thread.stop()
            #expect(engine.disk.eventCount == count)
            #expect(engine.handedOut.withLockedValue { $0.receipts.count } == 1)
        }

        /// The sync of a batch fails while the engine has the next one: neither is answered.
        @Test func afterAFailedSyncOnTheOtherThreadNothingIsHandedOut() async throws {
            let engine = try await Engine()
            engine.submit(1, requestID: 1)
            try await engine.waitForReceipts(1)
            engine.gate.holdNextWrite(.performed)
            engine.submit(1, requestID: 2)
            try engine.gate.waitUntilHeld()
            // More waits for the engine: the other thread syncs.
            engine.submit(2, requestID: 3)
            engine.disk.set(.init([.sync], number: 1, .inputOutput, isLasting: true))
            engine.gate.open()
            try await waitUntil("the failure") { engine.handedOut.withLockedValue { $0.failure != nil } }
            try await engine.thread.stop()
            engine.disk.set(nil)
            let state = engine.handedOut.withLockedValue { $0 }
            #expect(state.receipts.count == 1)
            #expect(state.failure?.isFatal == true)
        }
    }
}
