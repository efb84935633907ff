import NestModel
import NestDocuments

/// Models in the form of Xcode's files, written for these tests.
enum Samples {
    static let head = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22758" \
        systemVersion="23F79" minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier="">

        """

    /// Returns a model with these elements.
    static func model(_ elements: String) -> String { self.head + elements + "\n</model>\n" }

    /// Returns a model with one entity `Thing` that contains these elements.
    static func thing(_ elements: String) -> String {
        self.model("<entity name=\"Thing\" representedClassName=\"Thing\" syncable=\"YES\">\(elements)</entity>")
    }

    /// A model with most features that Xcode can write and nest accepts.
    static let harbour = Samples.model(
        """
            <entity name="Vessel" representedClassName="Vessel" isAbstract="YES" syncable="YES" codeGenerationType="class">
                <attribute name="callSign" attributeType="String" minValueString="2" maxValueString="8"/>
                <attribute name="crew" optional="YES" attributeType="Integer 16" minValueString="0" maxValueString="400" \
        defaultValueString="0" usesScalarValueType="YES"/>
                <attribute name="launched" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
                <relationship name="berth" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Berth" \
        inverseName="vessels" inverseEntity="Berth"/>
                <uniquenessConstraints>
                    <uniquenessConstraint>
                        <constraint value="callSign"/>
                    </uniquenessConstraint>
                </uniquenessConstraints>
                <userInfo>
                    <entry key="colour" value="grey"/>
                    <entry key="nest.label" value="callSign"/>
                </userInfo>
            </entity>
            <entity name="Ferry" representedClassName="Ferry" parentEntity="Vessel" elementID="Boat" syncable="YES">
                <attribute name="fare" attributeType="Decimal" defaultValueString="0.0"/>
                <attribute name="log" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
                <relationship name="routes" optional="YES" toMany="YES" minCount="1" maxCount="12" deletionRule="Deny" \
        ordered="YES" destinationEntity="Route" inverseName="ferries" inverseEntity="Route"/>
                <fetchIndex name="byFare">
                    <fetchIndexElement property="fare" type="Binary" order="descending"/>
                </fetchIndex>
            </entity>
            <entity name="Route" representedClassName="Route" syncable="YES">
                <attribute name="code" attributeType="UUID" usesScalarValueType="NO"/>
                <attribute name="added" attributeType="Date" usesScalarValueType="NO">
                    <userInfo>
                        <entry key="nest.default" value="now"/>
                    </userInfo>
                </attribute>
                <relationship name="ferries" optional="YES" toMany="YES" deletionRule="Nullify" \
        destinationEntity="Ferry" inverseName="routes" inverseEntity="Ferry"/>
            </entity>
            <entity name="Berth" representedClassName="Berth" syncable="YES">
                <attribute name="depth" optional="YES" attributeType="Float" defaultValueString="4.5" \
        usesScalarValueType="YES"/>
                <relationship name="vessels" optional="YES" toMany="YES" deletionRule="Cascade" \
        destinationEntity="Vessel" inverseName="berth" inverseEntity="Vessel"/>
            </entity>
            <elements>
                <element name="Vessel" positionX="-63" positionY="-18" width="128" height="104"/>
            </elements>
        """
    )
}

func readModel(_ text: String) throws(ModelFileError) -> ModelDocument {
    try ModelFile.read(Array(text.utf8), name: "model")
}

/// Returns the faults of a model, in its file or in its draft; none if the model is valid.
func faults(_ text: String) -> [String] {
    do {
        let document = try readModel(text)
        do {
            _ = try document.draft.compile()
            return []
        } catch {
            return error.faults
        }
    } catch {
        return error.faults
    }
}
