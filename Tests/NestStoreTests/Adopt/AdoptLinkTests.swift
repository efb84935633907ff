import Foundation
import NestModel
import NestStore
import NestTestSupport
import Testing

/// References that lead nowhere or to the wrong object, and the forms in which pairs are stored.
@Suite struct AdoptLinkTests {
    /// People with friends, a spouse, and a pet; two kinds of animals.
    private static var draft: ModelDraft {
        var person = EntityDraft(name: "Person")
        person.relationships = [
            .toMany("friends", "Person", "friends"), .toOne("spouse", "Person", "spouse"),
            .toOne("pet", "Cat", "keepers"), .toMany("seen", "Animal", "seenBy", isOrdered: true),
        ]
        var animal = EntityDraft(name: "Animal")
        animal.isAbstract = true
        animal.relationships = [.toMany("seenBy", "Person", "seen")]
        var (cat, dog) = (EntityDraft(name: "Cat"), EntityDraft(name: "Dog"))
        (cat.parent, dog.parent) = ("Animal", "Animal")
        cat.relationships = [.toMany("keepers", "Person", "pet")]
        return ModelDraft(entities: [person, animal, cat, dog])
    }

    private static func person(_ number: Int64) -> AppStore.Key { .init(table: "Person", number: number) }
    private static func animal(_ number: Int64) -> AppStore.Key { .init(table: "Animal", number: number) }

    /// Five people, two cats (1, 2) and a dog (3).
    private static var app: AppStore {
        var app = AppStore(Self.draft)
        for number in 1...5 { app.objects[Self.person(Int64(number))] = .init(entity: "Person") }
        for number in 1...3 { app.objects[Self.animal(Int64(number))] = .init(entity: number == 3 ? "Dog" : "Cat") }
        return app
    }

    private func link(_ app: inout AppStore, _ name: String, _ pairs: [(Int64, Int64)]) {
        let there = app.relationship(name, "Person")!
        let back = app.relationship(there.inverse, there.destination)
        for (a, b) in pairs {
            let target = there.destination == "Person" ? Self.person(b) : Self.animal(b)
            app.link(Self.person(a), there, target, back)
        }
        for key in app.objects.keys {
            for other in [there, back!] where !other.isOrdered { app.objects[key]!.links[other.name]?.sort() }
        }
    }

    /// Adopts a store that was changed by SQL, and compares it with what is left.
    private func adopt(_ app: AppStore, changed sql: [String], _ expected: AppStore) throws -> [String] {
        let adopted = try AdoptedApp(app)
        for sql in sql { try adopted.change(sql) }
        let report = try adopted.adopt()
        #expect(report.refused.isEmpty, "\(report)")
        let other = try AdoptedApp(expected)
        try FileManager.default.copyItem(atPath: adopted.target, toPath: other.target)
        try other.compare(report)
        return report.dangling.map { "\($0.text): \($0.count) \($0.first)" }
    }

    @Test func referencesThatLeadNowhereBecomeNoneAndAreCounted() throws {
        var app = Self.app
        self.link(&app, "spouse", [(1, 2), (3, 4)])
        self.link(&app, "pet", [(1, 1), (2, 1), (3, 2)])
        var expected = Self.app
        self.link(&expected, "spouse", [(1, 2)])
        self.link(&expected, "pet", [(1, 1)])
        let found = try self.adopt(
            app,
            changed: [
                "UPDATE ZPERSON SET ZPET = 3 WHERE Z_PK = 2", "UPDATE ZPERSON SET ZPET = 99 WHERE Z_PK = 3",
                "UPDATE ZPERSON SET ZSPOUSE = 5 WHERE Z_PK = 4",
            ],
            expected
        )
        #expect(
            found == [
                "Person.pet leads to an object of another entity: 1 [2]",
                "Person.spouse leads to an object that does not lead back: 2 [3, 4]",
                "Person.pet leads to an object that does not exist: 1 [3]",
            ]
        )
    }

    @Test func pairsWithObjectsThatDoNotExistAreLeftOut() throws {
        var app = Self.app
        self.link(&app, "seen", [(1, 3), (1, 1), (2, 3), (4, 2)])
        var expected = Self.app
        self.link(&expected, "seen", [(1, 1), (4, 2)])
        expected.objects[Self.animal(3)] = nil
        let found = try self.adopt(app, changed: ["DELETE FROM ZANIMAL WHERE Z_PK = 3"], expected)
        #expect(found == ["Person.seen has a pair with an object that does not exist: 2 [1, 2]"])
    }

    @Test(arguments: [
        ["INSERT INTO Z_4FRIENDS SELECT REFLEXIVE, Z_4FRIENDS FROM Z_4FRIENDS"],
        ["ALTER TABLE Z_4FRIENDS RENAME COLUMN REFLEXIVE TO Z_4FRIENDS1"], [],
    ]) func friendsAreFriendsInBothDirections(_ sql: [String]) throws {
        var app = Self.app
        self.link(&app, "friends", [(1, 2), (1, 5), (3, 4), (2, 5)])
        #expect(try self.adopt(app, changed: sql, app) == [])
    }
}
