import NestModel
import NestServer
import NestStore
import NestTestSupport
import Testing

/// The leader record of `nestd cluster migrate`.
@Suite struct ClusterMigrationTests {
    /// Returns the histories that the leader records name after a migration.
    private func migrated(_ world: ReplicaWorld, _ log: ScriptedLog) throws -> [Identifier128] {
        var name = EntityDraft(name: "Name")
        name.attributes = [.named("text")]
        let migration = ClusterMigration(
            ReplicaLog(
                log: log,
                sharedLog: { _ in log },
                seize: { () throws(LogFailure) in try log.claim(isSessionGone: true) ?? 0 }
            ),
            path: world.path("migrating"),
            model: try ModelDraft(entities: [name]).compile(),
            removals: .all,
            progress: { _ in }
        )
        guard case .migrated = try migration.run(isDryRun: false) else {
            Issue.record("not migrated")
            return []
        }
        return try log.histories()
    }

    @Test func theHistoryStaysWhenNothingWasLost() throws {
        let world = try ReplicaWorld()
        #expect(try self.migrated(world, world.log()) == [world.history, world.history])
    }

    /// A migration leads like any other node: what was lost before it is not hidden behind its record.
    @Test(arguments: [true, false])
    func theHistoryIsRenewedWhenRecordsMayHaveBeenLost(isDoubted: Bool) throws {
        let world = try ReplicaWorld()
        let log = world.log()
        log.withState { state in
            if isDoubted { state.doubt = true } else { state.server.timeline = 2 }
        }
        let histories = try self.migrated(world, log)
        #expect(histories.count == 2 && histories.first == world.history && histories.last != world.history)
    }
}
