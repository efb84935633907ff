import GRDB
import NestCache
import NestClient
import NestModel
import NestProtocol
import NestTestSupport
import Testing

@Suite struct CacheFileTests {
    private let directory = TemporaryDirectory()

    @Test func aViewAndTheModelAreReadAgainAfterTheFileWasClosed() async throws {
        let view = CacheFixtures.view(1, CacheFixtures.state(100))
        let model = CachedModel(identity: 3, hash: 77, bytes: [1, 2, 3])
        do {
            let cache = try CacheFixtures.open(self.directory)
            #expect(await cache.view(view.request) == nil)
            #expect(await cache.model() == nil)
            cache.record([.model(model), .replace(view)])
            // A read has everything that was recorded before.
            #expect(await cache.view(view.request) == view)
            await cache.flush()
        }
        let cache = try CacheFixtures.open(self.directory)
        #expect(await cache.view(view.request) == view)
        #expect(await cache.model() == model)
        cache.record([.remove(request: view.request, reason: "test")])
        #expect(await cache.view(view.request) == nil)
    }

    @Test(arguments: [false, true]) func changesLeadToTheLastState(_ isFlushedBetween: Bool) async throws {
        let cache = try CacheFixtures.open(self.directory)
        var state = CacheFixtures.state(10)
        let view = CacheFixtures.view(1, state)
        cache.record([.replace(view)])
        for number in 0..<50 {
            if isFlushedBetween { await cache.flush() }
            let change = CacheFixtures.rename(1, &state, to: "title \(number)", sequence: view.sequence + number)
            cache.record([.append(change)])
        }
        #expect(try await CacheFixtures.state(1, in: cache) == state)
        let read = try #require(await cache.view(view.request))
        #expect(read.sequence == view.sequence + 50 && read.revision == state.revision)
    }

    /// Thousands of changes cost one transaction, and one block in the queue of the cache besides that of `flush`.
    @Test func changesAreWrittenTogether() async throws {
        let cache = try CacheFixtures.open(self.directory)
        var state = CacheFixtures.state(10)
        let view = CacheFixtures.view(1, state)
        cache.record([.replace(view)])
        for number in 0..<5_000 {
            let change = CacheFixtures.rename(1, &state, to: "title \(number)", sequence: view.sequence + number)
            cache.record([.append(change)])
        }
        await cache.flush()
        let counters = cache.counters
        #expect(counters.changes == 5_001)
        #expect(counters.batches == 1)
        #expect(counters.hops == 2)
        #expect(try await CacheFixtures.state(1, in: cache) == state)
    }

    /// The changes of a view never have many more bytes than its snapshot.
    @Test func changesThatOutweighTheSnapshotAreRewritten() async throws {
        let cache = try CacheFixtures.open(self.directory)
        var state = CacheFixtures.state(10)
        let view = CacheFixtures.view(1, state)
        cache.record([.replace(view)])
        var longest = 0
        for number in 0..<40 {
            let title = String(repeating: "\(number % 10)", count: 1_000)
            let change = CacheFixtures.rename(1, &state, to: title, sequence: view.sequence + number)
            cache.record([.append(change)])
            let read = try #require(await cache.view(view.request))
            longest = max(longest, read.byteCount)
            #expect(try read.load(as: CacheFixtures.request(1)).state == state)
        }
        #expect(longest < 20 << 10)
    }

    /// Fold states are frames of their own. A rewritten outline has them all, and so has one that was read again after
    /// the file was closed.
    @Test func anOutlineKeepsItsFoldStates() async throws {
        let request = CacheFixtures.outline
        var (view, state) = CacheFixtures.outlineView(40)
        do {
            let cache = try CacheFixtures.open(self.directory)
            cache.record([.replace(view)])
            for number in 0..<4_000 {
                let object = ObjectID(Int64(number % 600) + 2)
                let append = CacheFixtures.fold(object, isExpanded: number / 600 % 2 == 0, of: &view)
                cache.record([.append(append)])
                if number % 500 == 0 { await cache.flush() }
            }
            await cache.flush()
        }
        let cache = try CacheFixtures.open(self.directory)
        let read = try #require(await cache.view(request.cacheKey))
        #expect(read.frames.count < 2_000 && read.sequence == view.sequence)
        let loaded = try read.load(as: request)
        #expect(try loaded.folds == view.load(as: request).folds)
        state.revision = read.revision
        #expect(loaded.state == state)
        #expect(loaded.folds?.last.outline.exceptions.count == 400)
    }

    /// A reader of an earlier version has no outlines: it drops one, as every state with a frame that it does not know.
    @Test func anUnknownFrameDropsTheState() async throws {
        var view = CacheFixtures.view(1, CacheFixtures.state(3))
        view.frames.append(CachedFrame(type: 0x3f, body: [1]))
        let cache = try CacheFixtures.open(self.directory)
        cache.record([.replace(view)])
        let read = try #require(await cache.view(view.request))
        #expect(throws: CacheFault.self) { try read.load(as: CacheFixtures.request(1)) }
    }

    @Test func changesOfAnotherRecordingAreDropped() async throws {
        let cache = try CacheFixtures.open(self.directory)
        var state = CacheFixtures.state(10)
        let view = CacheFixtures.view(1, state)
        cache.record([.replace(view)])
        let first = CacheFixtures.rename(1, &state, to: "first", sequence: view.sequence)
        cache.record([.append(first)])
        let expected = state
        // Frames that are already there, frames after a gap, and frames of another snapshot.
        var other = state
        let late = CacheFixtures.rename(1, &other, to: "late", sequence: view.sequence)
        let early = CacheFixtures.rename(1, &other, to: "early", sequence: view.sequence + 2)
        let foreign = CacheFixtures.rename(1, &other, to: "foreign", sequence: view.sequence + 1, recording: 2)
        for change in [late, early, foreign] {
            cache.record([.append(change)])
            #expect(try await CacheFixtures.state(1, in: cache) == expected)
        }
    }

    /// The views that were shown least recently leave first: shown is what was read or replaced.
    @Test func theCacheIsBoundedAndTheLeastRecentlyShownLeaveFirst() async throws {
        let state = CacheFixtures.state(100, textBytes: 100)
        let size = CacheFixtures.view(1, state).byteCount
        let cache = try CacheFixtures.open(self.directory, byteCountMax: size * 4 + 4_096)
        for number in 1...4 as ClosedRange<Int64> {
            cache.record([.replace(CacheFixtures.view(number, state))])
            await cache.flush()
        }
        #expect(cache.counters.evictions == 0)
        #expect(try await CacheFixtures.state(1, in: cache) == state)
        for number in 5...6 as ClosedRange<Int64> {
            cache.record([.replace(CacheFixtures.view(number, state))])
            await cache.flush()
        }
        #expect(cache.counters.evictions == 2)
        var kept: [Int64] = []
        for number in 1...6 as ClosedRange<Int64> where try await CacheFixtures.state(number, in: cache) != nil {
            kept.append(number)
        }
        #expect(kept == [1, 4, 5, 6])
    }

    @Test func aViewThatIsTooLargeIsNotKept() async throws {
        let cache = try CacheFixtures.open(self.directory)
        let small = CacheFixtures.state(1)
        cache.record([.replace(CacheFixtures.view(1, small))])
        await cache.flush()
        let large = CacheFixtures.state(300, textBytes: 60_000)
        let view = CacheFixtures.view(1, large)
        #expect(view.byteCount > Limits.cacheViewBytesMax)
        cache.record([.replace(view)])
        #expect(try await CacheFixtures.state(1, in: cache) == nil)
    }

    /// Beyond the limit changes are dropped, and so are those that follow them: the state stays an older one.
    @Test func changesThatWaitAreLimited() async throws {
        let cache = try CacheFixtures.open(self.directory)
        var state = CacheFixtures.state(1)
        let view = CacheFixtures.view(1, state)
        cache.record([.replace(view)])
        await cache.flush()
        let before = state
        var changes: [CacheAppend] = []
        let title = String(repeating: "x", count: 60_000)
        for number in 0..<Limits.cacheUnwrittenBytesMax / 60_000 + 2 {
            changes.append(CacheFixtures.rename(1, &state, to: title, sequence: view.sequence + number))
        }
        cache.record(changes.map { .append($0) })
        let read = try #require(await cache.view(view.request))
        #expect(read.sequence < view.sequence + changes.count)
        // One more change of the newest state does not fit any more.
        let late = CacheFixtures.rename(1, &state, to: "late", sequence: view.sequence + changes.count)
        cache.record([.append(late)])
        let held = try #require(try await CacheFixtures.state(1, in: cache))
        #expect(held.revision < state.revision && held.revision > before.revision)
    }

    @Test func nothingIsLeftAfterClear() async throws {
        let secret = "a secret title"
        var state = CacheFixtures.state(10)
        state.sections[0].rows[3].values = [.string(secret)]
        let path: String
        do {
            let cache = try CacheFixtures.open(self.directory)
            path = cache.path
            cache.record([.model(CachedModel(identity: 3, hash: 1, bytes: Array(secret.utf8)))])
            cache.record([.replace(CacheFixtures.view(1, state))])
            await cache.flush()
            cache.record([.replace(CacheFixtures.view(2, state))])
            try await cache.clear()
            #expect(try await CacheFixtures.state(1, in: cache) == nil)
            #expect(try await CacheFixtures.state(2, in: cache) == nil)
            #expect(await cache.model() == nil)
            for suffix in ["", "-wal"] {
                let bytes = try TestFile.bytes(path + suffix)
                #expect(!bytes.contains(Array(secret.utf8)), "in '\(suffix)'")
            }
            cache.record([.replace(CacheFixtures.view(3, state))])
            #expect(try await CacheFixtures.state(3, in: cache) == state)
        }
    }

    @Test func onlyItsOwnerMayReadTheFile() async throws {
        let cache = try CacheFixtures.open(self.directory)
        cache.record([.replace(CacheFixtures.view(1, CacheFixtures.state(1)))])
        await cache.flush()
        for suffix in ["", "-wal", "-shm", "-lock"] { #expect(TestFile.mode(cache.path + suffix) == 0o600) }
    }

    @Test func aFileInADirectoryThatDoesNotExistIsRefused() throws {
        #expect(throws: NestError.self) { try CacheFixtures.open(self.directory, "none/lists") }
    }

    // MARK: Several openers

    @Test func twoOpenersSeeEachOther() async throws {
        let (one, two) = (try CacheFixtures.open(self.directory), try CacheFixtures.open(self.directory))
        var state = CacheFixtures.state(10)
        let view = CacheFixtures.view(1, state)
        one.record([.replace(view)])
        await one.flush()
        #expect(try await CacheFixtures.state(1, in: two) == state)
        two.record([.replace(CacheFixtures.view(2, state))])
        await two.flush()
        #expect(try await CacheFixtures.state(2, in: one) == state)
        // Both continue the same view: the first one wins, and the state stays one of a client.
        var other = state
        let loser = CacheFixtures.rename(1, &other, to: "two", sequence: view.sequence)
        one.record([.append(CacheFixtures.rename(1, &state, to: "one", sequence: view.sequence))])
        await one.flush()
        two.record([.append(loser)])
        await two.flush()
        #expect(try await CacheFixtures.state(1, in: two) == state)
    }

    @Test func manyOpenersWriteAtOnceAndEveryStateIsWhole() async throws {
        let directory = self.directory
        try await withThrowingTaskGroup(of: Void.self) { group in
            for opener in 0..<4 as Range<UInt64> {
                group.addTask {
                    let cache = try CacheFixtures.open(directory)
                    for round in 0..<20 {
                        var state = CacheFixtures.state(20, revision: UInt64(round * 10 + 1))
                        let recording = opener * 100 + UInt64(round)
                        let number = Int64(round % 3 + 1)
                        let view = CacheFixtures.view(number, state, recording: recording)
                        cache.record([.replace(view)])
                        await cache.flush()
                        for step in 0..<3 {
                            let title = "\(opener) \(round) \(step)"
                            let change = CacheFixtures.rename(
                                number,
                                &state,
                                to: title,
                                sequence: view.sequence + step,
                                recording: recording
                            )
                            cache.record([.append(change)])
                            let read = try #require(await cache.view(view.request))
                            _ = try read.load(as: CacheFixtures.request(number))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: Damage

    private struct Written {
        let bytes: [UInt8]
        let views: [CachedView]
        let model: CachedModel
    }

    private func written() async throws -> Written {
        let views = (1...3).map { CacheFixtures.view($0, CacheFixtures.state(Int($0) * 40, textBytes: 20)) }
        let model = CachedModel(identity: 3, hash: 77, bytes: Array(repeating: 5, count: 300))
        let path: String
        do {
            let cache = try CacheFixtures.open(self.directory, "original")
            path = cache.path
            cache.record([.model(model)] + views.map { .replace($0) })
            await cache.close()
        }
        return Written(bytes: try TestFile.bytes(path), views: views, model: model)
    }

    /// Opens a damaged file: what it returns is what was written, or nothing; and then it works.
    private func check(_ bytes: [UInt8], _ written: Written, _ label: String) async throws {
        let directory = TemporaryDirectory(inMemory: true)
        try TestFile.write(bytes, to: "\(directory.path)/lists")
        let cache = try CacheFixtures.open(directory)
        for view in written.views {
            let read = await cache.view(view.request)
            #expect(read == nil || read == view, "\(label)")
        }
        let model = await cache.model()
        #expect(model == nil || model == written.model, "\(label)")
        let new = CacheFixtures.view(9, CacheFixtures.state(200))
        for attempt in 0..<4 {
            cache.record([.replace(new)])
            if await cache.view(new.request) == new { return }
            #expect(attempt < 3, "\(label): the cache does not work again")
        }
    }

    @Test func aDamagedFileGivesNothingWrongAndIsReplaced() async throws {
        let written = try await self.written()
        #expect(written.bytes.count > 16 << 10)
        var random = SeededRandom(seed: 1)
        // Every byte of the header except the application id, and every 61st of the rest.
        let places = Array(0..<68) + Array(72..<112) + Array(stride(from: 112, to: written.bytes.count, by: 61))
        for place in places {
            var bytes = written.bytes
            bytes[place] ^= UInt8(1 << random.below(8))
            try await self.check(bytes, written, "byte \(place)")
        }
    }

    @Test func aTruncatedFileGivesNothingWrongAndIsReplaced() async throws {
        let written = try await self.written()
        for count in stride(from: 0, to: written.bytes.count, by: 499) {
            try await self.check(Array(written.bytes.prefix(count)), written, "\(count) bytes")
        }
    }

    /// A wrong path must not cost a file of another program.
    @Test func aFileOfAnotherKindIsRefusedAndNotTouched() async throws {
        let other = "\(self.directory.path)/other.sqlite"
        do {
            let database = try DatabaseQueue(path: other)
            try await database.write { try $0.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (1)") }
            try database.close()
        }
        let files = [
            try TestFile.bytes(other), Array("a text\n".utf8), Array(repeating: 0, count: 8_192),
            Array(repeating: UInt8(ascii: "x"), count: 8_192),
        ]
        for (number, bytes) in files.enumerated() {
            let path = "\(self.directory.path)/\(number)"
            try TestFile.write(bytes, to: path)
            let mode = TestFile.mode(path)
            let error = #expect(throws: NestError.self) { try CacheFixtures.open(self.directory, "\(number)") }
            #expect(error?.code == .invalid && error?.message.contains("is no cache") == true)
            #expect(try TestFile.bytes(path) == bytes && TestFile.mode(path) == mode)
            #expect(TestFile.mode(path + "-wal") == nil)
        }
    }

    @Test func anExistingFileIsReadableOnlyByItsOwnerAfterwards() async throws {
        let written = try await self.written()
        let path = "\(self.directory.path)/open"
        try TestFile.write(written.bytes, to: path)
        try TestFile.setMode(0o644, of: path)
        let cache = try CacheFixtures.open(self.directory, "open")
        #expect(TestFile.mode(path) == 0o600)
        #expect(await cache.model() == written.model)
    }

    @Test func aLinkIsRefused() async throws {
        _ = try await self.written()
        try TestFile.link("\(self.directory.path)/link", to: "\(self.directory.path)/original")
        #expect(throws: NestError.self) { try CacheFixtures.open(self.directory, "link") }
        #expect(throws: NestError.self) { try CacheFixtures.open(self.directory, "") }
    }

    @Test func clearDoesNotReportSuccessWhileTheFileStays() async throws {
        _ = try await self.written()
        let first = try CacheFixtures.open(self.directory, "original")
        try TestFile.write(self.garbage, to: first.path)
        let second = try CacheFixtures.open(self.directory, "original")
        await #expect(throws: NestError.self) { try await second.clear() }
        #expect(try TestFile.bytes(first.path) == self.garbage)
        await first.close()
        await #expect(throws: NestError.self) { try await first.clear() }
    }

    // MARK: A file that cannot be written for a while

    @Test func aRemovalThatCouldNotBeWrittenIsWrittenLater() async throws {
        let state = CacheFixtures.state(3)
        let cache = try CacheFixtures.open(self.directory)
        let views = (1...3).map { CacheFixtures.view($0, state) }
        cache.record(views.map { .replace($0) })
        await cache.flush()
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let blocker = try DatabaseQueue(path: cache.path, configuration: configuration)
        try await blocker.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        var changed = state
        let change = CacheFixtures.rename(2, &changed, to: "new", sequence: views[1].sequence)
        cache.record([.remove(request: views[0].request, reason: "test"), .append(change)])
        await cache.flush()
        // The file still has it.
        #expect(await cache.view(views[0].request) == nil)
        let next = CacheFixtures.rename(2, &changed, to: "newer", sequence: views[1].sequence + 1)
        let newest = CacheFixtures.view(3, state, recording: 2)
        cache.record([.append(next), .replace(newest)])
        try await blocker.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        await cache.flush()
        let reader = try CacheFixtures.open(self.directory)
        #expect(await reader.view(views[0].request) == nil)
        #expect(await reader.view(views[1].request) == nil)
        #expect(await reader.view(views[2].request) == newest)
    }

    @Test func aStateThatFindsNoRoomRemovesTheOlderOne() async throws {
        let cache = try CacheFixtures.open(self.directory)
        cache.record([.replace(CacheFixtures.view(1, CacheFixtures.state(1)))])
        await cache.flush()
        let large = CacheFixtures.state(300, textBytes: 60_000)
        let size = CacheFixtures.view(2, large).byteCount
        for _ in 0...Limits.cacheUnwrittenBytesMax / size { cache.record([.replace(CacheFixtures.view(2, large))]) }
        cache.record([.replace(CacheFixtures.view(1, large))])
        #expect(try await CacheFixtures.state(1, in: cache) == nil)
    }

    /// Bytes that are no database, with the application id of a cache.
    private var garbage: [UInt8] {
        var bytes = Array(repeating: 7 as UInt8, count: 4_096)
        bytes.replaceSubrange(68..<72, with: Array("nest".utf8))
        return bytes
    }

    /// A damaged file that another cache has open is left alone: this cache keeps nothing.
    @Test func aDamagedFileThatIsOpenElsewhereIsNotReplaced() async throws {
        let written = try await self.written()
        let view = written.views[0]
        let first = try CacheFixtures.open(self.directory, "original")
        let garbage = self.garbage
        try TestFile.write(garbage, to: first.path)
        let second = try CacheFixtures.open(self.directory, "original")
        second.record([.replace(view)])
        await second.flush()
        #expect(await second.view(view.request) == nil)
        #expect(try TestFile.bytes(first.path) == garbage)
        await first.close()
        let third = try CacheFixtures.open(self.directory, "original")
        third.record([.replace(view)])
        #expect(await third.view(view.request) == view)
    }
}
