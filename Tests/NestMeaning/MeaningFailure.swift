/// The violation of a rule that every answer must follow.
package struct MeaningFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }

    static func unless(_ isRight: Bool, _ what: @autoclosure () -> String) throws(MeaningFailure) {
        if !isRight { throw MeaningFailure(what()) }
    }
}
