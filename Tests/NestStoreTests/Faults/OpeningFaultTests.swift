import Foundation
import NestModel
import NestTestSupport
import Testing

@testable import NestStore

/// Opening writes too: it creates a store, migrates it, gives a restored backup its own history id, and moves the log
/// that a crash has left into the file. Wherever that is interrupted or fails, opening the store again gives the same
/// store, and nothing is lost.
@Suite struct OpeningFaultTests {
    enum Opening: CaseIterable {
        case created, migrated, restored, recovered
    }

    private static let statesMax = Int(ProcessInfo.processInfo.environment["NEST_CRASH_STATES"] ?? "") ?? 120
    private static let first = Identifier128(high: 21, low: 1)
    private static let second = Identifier128(high: 22, low: 2)

    @Test(arguments: Opening.allCases)
    func openingSurvivesACrashAtAnyOperation(opening: Opening) throws {
        let files = try Self.files(before: opening)
        let expected = try Self.expected(opening, files)
        let scene = Scene(files, isRecording: true)
        try Self.open(scene, opening, Self.first).close()
        let events = try #require(scene.disk).events
        var random = SeededRandom(seed: 1)
        var replay = CrashStates(events, on: files)
        let step = max(1, events.count * 2 / Self.statesMax)
        for cut in stride(from: 0, through: events.count, by: step) {
            replay.advance(to: cut)
            for (name, state) in [("kill", replay.killed()), ("power loss", replay.powerLost(&random))] {
                let faults = Self.faults(opening, Scene(state, isRecording: nil), expected)
                #expect(faults == [], "\(opening), \(name) after \(cut) of \(events.count) operations")
            }
        }
    }

    @Test(arguments: Opening.allCases)
    func everyOperationOfOpeningMayFail(opening: Opening) throws {
        let files = try Self.files(before: opening)
        let expected = try Self.expected(opening, files)
        for (operations, effect) in [
            ([.write, .truncate], .full), ([.write], .inputOutput), ([.sync], .inputOutput), ([.read], .inputOutput),
            ([.open, .delete], .inputOutput), ([.sharedMemory], .inputOutput),
        ] as [(Set<FaultyDisk.Operation>, FaultyDisk.Fault.Effect)] {
            var number = 0
            var hits = 1
            while hits > 0, number < 2_000 {
                number += 1
                let scene = Scene(files, isRecording: false)
                let disk = try #require(scene.disk)
                disk.set(.init(operations, number: number, effect, isLasting: true))
                // The open may fail, or continue without the failed operation.
                try? Self.open(scene, opening, Self.first).close()
                hits = disk.hits
                disk.set(nil)
                let faults = Self.faults(opening, Scene(scene.files, isRecording: nil), expected)
                #expect(faults == [], "\(opening), \(effect) of \(operations), the \(number)th")
            }
        }
    }

    // MARK: The files

    /// The files in a directory, before and after they are opened.
    private struct Scene {
        let directory = TemporaryDirectory(inMemory: true)
        let disk: FaultyDisk?
        var path: String { self.directory.path + "/nest.sqlite" }

        /// `isRecording`: `nil` if no faulty disk is used.
        init(_ files: [String: [UInt8]], isRecording: Bool?) {
            for (name, bytes) in files { FileBytes.write(bytes, to: "\(self.directory.path)/\(name)") }
            self.disk = isRecording.map { [path = self.directory.path] in FaultyDisk(watching: path, isRecording: $0) }
        }

        var files: [String: [UInt8]] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: self.directory.path)) ?? []
            let kept = names.filter { !$0.hasSuffix("-shm") && !$0.hasSuffix(".lock") }
            return Dictionary(uniqueKeysWithValues: kept.map { ($0, FileBytes.read("\(self.directory.path)/\($0)")) })
        }
    }

    private static func model(_ opening: Opening, isNew: Bool) -> ManagedObjectModel {
        guard opening == .migrated else { return .nestedList }
        var user = EntityDraft("User", [AttributeDraft("name") { _ in }], [])
        if isNew { user.attributes.append(AttributeDraft("age", .integer) { $0.defaultValue = .integer(7) }) }
        // swift-format-ignore: NeverUseForceTry
        return try! ModelDraft(entities: [user]).compile()
    }

    private static func files(before opening: Opening) throws -> [String: [UInt8]] {
        guard opening != .created else { return [:] }
        let fixture = try Fixture(Self.model(opening, isNew: false), inMemory: true)
        for number in 0..<60 {
            let title = "\(number) " + String(repeating: "x", count: 200)
            try fixture.perform(
                opening == .migrated
                    ? .insert(
                        entity: EntityNumber(1),
                        values: [PropertyAssignment(PropertyNumber(1), .value(.string(title)))],
                        placements: []
                    ) : Fixture.insert(title)
            )
        }
        if opening == .restored {
            let copy = fixture.directory.path + "/copy.sqlite"
            try fixture.store.access { try fixture.store.connection.execute("VACUUM INTO '\(copy)'") }
            try Store.markAsCopy(copy)
            return ["nest.sqlite": FileBytes.read(copy)]
        }
        if opening != .recovered { try fixture.store.close() }
        let names = ["nest.sqlite", "nest.sqlite-wal"].filter { FileBytes.exists("\(fixture.directory.path)/\($0)") }
        return Dictionary(uniqueKeysWithValues: names.map { ($0, FileBytes.read("\(fixture.directory.path)/\($0)")) })
    }

    // MARK: The expected result

    private static func open(_ scene: Scene, _ opening: Opening, _ id: Identifier128) throws -> Store {
        try Store(
            .init(location: .file(scene.path), model: self.model(opening, isNew: true)),
            newHistoryID: id
        )
    }

    /// Returns the images of the store when nothing fails, for each of two history ids.
    private static func expected(_ opening: Opening, _ files: [String: [UInt8]]) throws -> Set<Int> {
        var images: Set<Int> = []
        for id in [self.first, self.second] {
            let store = try self.open(Scene(files, isRecording: nil), opening, id)
            images.insert(try StoredImage.of(store))
            try store.close()
        }
        return images
    }

    private static func faults(_ opening: Opening, _ scene: Scene, _ expected: Set<Int>) -> [String] {
        do {
            let store = try self.open(scene, opening, self.second)
            var faults = try StoredImage.damage(store)
            faults += try StoredInvariants(store.layout).broken(in: store, head: store.head)
            if try !expected.contains(StoredImage.of(store)) { faults.append("the store has another content") }
            try store.close()
            return faults
        } catch {
            return ["\(error)"]
        }
    }
}
