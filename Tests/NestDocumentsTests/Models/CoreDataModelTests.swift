import NestModel
import NestDocuments
import Testing

@Suite struct CoreDataModelTests {
    @Test func aWholeModelIsRead() throws {
        let document = try readModel(Samples.harbour)
        #expect(document.warnings.isEmpty, "\(document.warnings)")
        let model = try document.draft.compile()
        let vessel = try #require(model.entity(named: "Vessel"))
        let ferry = try #require(model.entity(named: "Ferry"))
        let route = try #require(model.entity(named: "Route"))
        let berth = try #require(model.entity(named: "Berth"))
        #expect(vessel.isAbstract && ferry.parent == vessel.number && ferry.renamedFrom == "Boat")
        #expect(ferry.attributes.map(\.name) == ["callSign", "crew", "launched", "fare", "log"])
        #expect(ferry.label == vessel.propertyNumber(named: "callSign"))
        #expect(ferry.uniquenessConstraints == [[try #require(ferry.propertyNumber(named: "callSign"))]])
        #expect(ferry.indexes == [[try #require(ferry.propertyNumber(named: "fare"))]])
        let routes = try #require(ferry.relationships.first { $0.name == "routes" })
        #expect(routes.isToMany && routes.isOrdered && routes.isOptional && routes.deleteRule == .deny)
        #expect(routes.minimumCount == 1 && routes.maximumCount == 12)
        let ferries = try #require(route.relationships.first)
        #expect(ferries.isToMany && !ferries.isOrdered && ferries.join != nil && ferries.join == routes.join)
        #expect(try #require(route.attributes.first { $0.name == "added" }).defaultsToNow)
        #expect(berth.relationships.first?.deleteRule == .cascade)
        #expect(berth.attributes.first?.defaultValue == .double(4.5))
    }

    @Test func relationshipsAreReadAsInXcode() throws {
        let document = try readModel(
            Samples.thing(
                """
                <relationship name="up" optional="YES" minCount="1" maxCount="1" ordered="YES" destinationEntity="Thing" \
                inverseName="down" inverseEntity="Thing" elementID="above"/>
                <relationship name="down" toMany="YES" deletionRule="No Action" destinationEntity="Thing" \
                inverseName="up" inverseEntity="Thing"/>
                """
            )
        )
        let up = document.draft.entities[0].relationships[0]
        let down = document.draft.entities[0].relationships[1]
        #expect(!up.isToMany && !up.isOrdered && up.isOptional && up.minimumCount == 0 && up.maximumCount == 0)
        #expect(up.deleteRule == .nullify && up.renamedFrom == "above")
        #expect(down.isToMany && !down.isOptional && down.deleteRule == .nullify)
        #expect(document.warnings.count == 2 && document.warnings.contains { $0.contains("No Action") })
    }

    @Test func transientRelationshipsAreLeftOutWithTheirInverses() throws {
        let document = try readModel(
            Samples.thing(
                """
                <relationship name="up" optional="YES" transient="YES" maxCount="1" deletionRule="Nullify" \
                destinationEntity="Thing" inverseName="down" inverseEntity="Thing"/>
                <relationship name="down" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Thing" \
                inverseName="up" inverseEntity="Thing"/>
                """
            )
        )
        #expect(document.draft.entities[0].relationships.isEmpty && document.warnings.count == 2)
    }

    @Test func indexesKeepTheSupportedProperties() throws {
        func element(_ property: String, _ order: String = "ascending", _ type: String = "Binary") -> String {
            "<fetchIndexElement property=\"\(property)\" type=\"\(type)\" order=\"\(order)\"/>"
        }
        let document = try readModel(
            Samples.thing(
                """
                <attribute name="a" attributeType="String" indexed="YES"/><attribute name="b" attributeType="Double"/>
                <relationship name="up" optional="YES" indexed="YES" maxCount="1" deletionRule="Nullify" \
                destinationEntity="Thing" inverseName="down" inverseEntity="Thing"/>
                <relationship name="down" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Thing" \
                inverseName="up" inverseEntity="Thing"/>
                <fetchIndex name="same">\(element("a"))</fetchIndex>
                <fetchIndex name="mixed">\(element("b", "descending"))\(element("a"))</fetchIndex>
                <fetchIndex name="place">\(element("b", "ascending", "RTree"))</fetchIndex>
                <fetchIndex name="foreign">\(element("up"))</fetchIndex>
                <fetchIndex name="many">\(element("down"))</fetchIndex>
                <fetchIndex name="with">\(element("down"))\(element("up"))\(element("a"))</fetchIndex>
                <fetchIndex name="word"><fetchIndexElement expression="lowercase:(a)" expressionType="String" \
                type="Binary" order="ascending"/></fetchIndex>
                <compoundIndexes><compoundIndex><index value="a"/><index value="b"/></compoundIndex></compoundIndexes>
                """
            )
        )
        // Indexes of single attributes first, then the rest in file order. A single relationship always has an index.
        #expect(document.draft.entities[0].indexes == [["a"], ["a", "b"], ["b", "a"], ["b"], ["up", "a"]])
        for word in ["mixed", "RTree", "with", "lowercase:(a)"] {
            #expect(document.warnings.contains { $0.contains(word) }, "\(word)")
        }
        #expect(document.warnings.count == 4, "\(document.warnings)")
    }

    @Test func ignoredPartsGiveWarnings() throws {
        let document = try readModel(
            Samples.model(
                """
                <entity name="Thing" syncable="YES" abstract="YES">
                    <attribute name="a" attributeType="String"/>
                    <fetchedProperty name="others" optional="YES"><fetchRequest name="fetchedPropertyFetchRequest" \
                entity="Thing" predicateString="a != nil"/></fetchedProperty>
                    <novelty/>
                </entity>
                <fetchRequest name="Adults" entity="Thing" predicateString="a == 1"/>
                <configuration name="Cloud" usedWithCloudKit="YES"><memberEntity name="Thing"/></configuration>
                <compositeAttribute name="Address"/>
                <wonder/>
                """
            )
        )
        for word in ["the fetch request template Adults", "Cloud", "Address", "<novelty>", "<wonder>", "abstract"] {
            #expect(document.warnings.contains { $0.contains(word) }, "\(word): \(document.warnings)")
        }
        #expect(document.warnings.count == 6)
        #expect(!document.draft.entities[0].isAbstract)
        // `a == 1` compares a text with a number.
        #expect(document.draft.requests.map(\.fullName) == ["Thing.others"])
    }

    @Test func userInfoMayHoldSettingsOfNest() throws {
        func info(_ entries: String) -> String { "<userInfo>\(entries)</userInfo>" }
        let tree = """
            <relationship name="parent" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Thing" \
            inverseName="children" inverseEntity="Thing"/>
            <relationship name="children" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="Thing" \
            inverseName="parent" inverseEntity="Thing"/>
            """
        let a =
            "<attribute name=\"a\" attributeType=\"String\">\(info("<entry key=\"nest.label\" value=\"YES\"/>"))</attribute>"
        let root = "<entry key=\"nest.root\" value=\"parent\"/>"
        let document = try readModel(Samples.thing(a + tree + info(root + "<entry key=\"theirs\" value=\"x\"/>")))
        #expect(document.warnings.isEmpty)
        let entity = try #require(try document.draft.compile().entity(named: "Thing"))
        #expect(
            entity.root
                == RootDescription(
                    object: ObjectID(1),
                    relationship: try #require(entity.propertyNumber(named: "parent"))
                )
        )
        #expect(entity.label == entity.propertyNumber(named: "a"))

        let other = try readModel(Samples.thing(tree + info(root + "<entry key=\"nest.rootObject\" value=\"7\"/>")))
        #expect(other.draft.entities[0].root?.object == ObjectID(7))
        #expect(try readModel(Samples.thing(info("<entry key=\"nest.colour\" value=\"x\"/>"))).warnings.count == 1)
        #expect(faults(Samples.thing(info("<entry key=\"nest.rootObject\" value=\"7\"/>"))).count == 1)
        #expect(faults(Samples.thing(tree + info(root + "<entry key=\"nest.rootObject\" value=\"x\"/>"))).count == 1)
        #expect(faults(Samples.thing(tree + info("<entry key=\"nest.root\" value=\"children\"/>"))).count == 1)
        #expect(faults(Samples.thing(tree + info("<entry key=\"nest.label\" value=\"nothing\"/>"))).count == 1)
        let later =
            "<attribute name=\"a\" attributeType=\"Date\">\(info("<entry key=\"nest.default\" value=\"later\"/>"))</attribute>"
        #expect(faults(Samples.thing(later)).count == 1)
        let number =
            "<attribute name=\"a\" attributeType=\"Double\">\(info("<entry key=\"nest.default\" value=\"now\"/>"))</attribute>"
        #expect(faults(Samples.thing(number)) == ["Thing.a: only a date can be now by default"])
    }

    /// One list has the faults of the file and those of the model.
    @Test func allFaultsAreReportedTogether() {
        let list = faults(
            Samples.model(
                """
                <entity name="A" parentEntity="B"><attribute name="x" attributeType="Composite"/></entity>
                <entity name="B" parentEntity="A"/>
                <entity name="C" parentEntity="Nowhere"><attribute name="n" attributeType="Integer 16" defaultValueString="70000"/>
                    <attribute name="twice" attributeType="String"/><attribute name="twice" attributeType="String"/>
                    <relationship name="alone" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="C"/>
                    <relationship name="lost" optional="YES" maxCount="1" deletionRule="Remove" destinationEntity="Gone" \
                inverseName="x" inverseEntity="Gone"/>
                    <relationship name="wrong" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="C" \
                inverseName="alone" inverseEntity="A"/>
                </entity>
                <entity name="C"/>
                """
            )
        )
        for words in [
            "A.x: composite", "A: its parent entities form a cycle", "B: its parent entities form a cycle",
            "C: its parent entity Nowhere",
            "C.twice: the name is used",
            "C.lost: its destination Gone", "C.lost: the delete rule 'Remove'",
            "C.wrong: its inverse belongs to A", "C: the model has more than one entity",
        ] {
            #expect(list.contains { $0.contains(words) }, "\(words): \(list)")
        }
    }

    @Test func inversesMustPointBack() {
        // Two relationships name the same inverse, as a model of an old Xcode can.
        let list = faults(
            Samples.model(
                """
                <entity name="Plane">
                    <relationship name="pilot" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Person" \
                inverseName="plane" inverseEntity="Person"/>
                    <relationship name="guest" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Person" \
                inverseName="plane" inverseEntity="Person"/>
                </entity>
                <entity name="Person"><relationship name="plane" optional="YES" maxCount="1" deletionRule="Nullify" \
                destinationEntity="Plane" inverseName="pilot" inverseEntity="Plane"/></entity>
                """
            )
        )
        #expect(list.count == 1 && list[0].hasPrefix("Plane.guest: Person.plane does not lead back"), "\(list)")
    }

    @Test func otherFilesAreRefusedWithTheirKind() {
        #expect(faults("<plist version=\"1.0\"><dict/></plist>").first?.contains("property list") == true)
        #expect(faults("<html/>").first?.contains("<html>") == true)
        #expect(faults("<model type=\"other\"/>").first?.contains("other") == true)
        #expect(faults("bplist00xxxx").first?.contains("binary") == true)
        #expect(faults("").first?.contains("empty") == true)
        #expect(faults("PK").first?.contains("neither") == true)
    }

    /// Xcode writes such a file for a new project.
    @Test func aModelMayHaveNoEntityYet() throws {
        for text in [Samples.model("<elements/>"), #"{"entities": []}"#] {
            let document = try ModelFile.read(Array(text.utf8), name: "M")
            #expect(document.warnings == ["the model has no entity yet: no object can be stored"])
            #expect(try document.draft.compile().entities.isEmpty)
        }
    }
}
