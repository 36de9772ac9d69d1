"""How rolls of one die and of several are told: the texts of `dice`, by wording and part."""

from elicitation.batteries.revealed.scenarios.setting import REFERENCE, Wording

ONE_DIE = (
    Wording(
        REFERENCE,
        {
            "setup": (
                "A die has {faces} faces, numbered from 1 to {faces}. Each face is equally likely "
                "to come up."
            ),
            "roll": "The die is rolled.",
            "seen": "Somebody looks at it and says that the result is {facts}.",
            "end": "The result is the number",
            "before": "The die was rolled before, and the result was {results}.",
            "befores": "The die was rolled {k} times before, and the results were {results}.",
            "again": "Earlier rolls have no influence on later ones. The die is rolled again.",
            "end again": "The new result is the number",
            "added": "The die is rolled again, and the results of all rolls are added.",
            "end added": "The total is the number",
        },
    ),
    Wording(
        "story",
        {
            "setup": "Mia has a fair die whose {faces} sides carry the numbers 1 to {faces}.",
            "roll": "She throws it.",
            "seen": "She covers it with her hand and only tells us that its number is {facts}.",
            "end": "When we look, the die shows the number",
            "before": "Her last throw gave {results}.",
            "befores": "Her last {k} throws gave {results}.",
            "again": "A die has no memory. She throws it once more.",
            "end again": "This time it shows the number",
            "added": "She throws it once more and adds this to what she had.",
            "end added": "Altogether she now has the number",
        },
    ),
    Wording(
        "record",
        {
            "setup": "Fair die, faces 1 to {faces}",
            "roll": "Rolls: one",
            "seen": "Known about the result: {facts}",
            "end": "Result:",
            "before": "Previous result: {results}",
            "befores": "Previous {k} results: {results}",
            "again": "Rolls do not influence each other",
            "end again": "Next result:",
            "added": "Rolls do not influence each other",
            "end added": "Total of all rolls, the next one included:",
        },
        "\n",
    ),
)
SEVERAL_DICE = (
    Wording(
        REFERENCE,
        {
            "setup": (
                "There are {n} dice. Each die has {faces} faces, numbered from 1 to {faces}, and "
                "each face is equally likely to come up."
            ),
            "roll": "All dice are rolled, and their numbers are added.",
            "seen": "Somebody looks at them and says that the sum is {facts}.",
            "end": "The sum is the number",
            "before": "All dice were rolled before, and the sum was {results}.",
            "befores": "All dice were rolled {k} times before, and the sums were {results}.",
            "again": "Earlier rolls have no influence on later ones. All dice are rolled again.",
            "end again": "The new sum is the number",
            "added": "All dice are rolled again, and the sums of all rolls are added.",
            "end added": "The total is the number",
            "one by one": "The dice are rolled one after the other.",
            "end first": "The first die shows the number",
            "first": (
                "The first die shows {first}. The other dice are rolled too, and the numbers of "
                "all dice are added."
            ),
        },
    ),
    Wording(
        "story",
        {
            "setup": (
                "Mia has {n} fair dice. The {faces} sides of each carry the numbers 1 to {faces}."
            ),
            "roll": "She throws them all and counts the points together.",
            "seen": (
                "She covers them with her hands and only tells us that the points together are "
                "{facts}."
            ),
            "end": "Together the dice show the number",
            "before": "Her last throw of all the dice came to {results}.",
            "befores": "Her last {k} throws of all the dice came to {results}.",
            "again": "Dice have no memory. She throws them all once more.",
            "end again": "This time they come to the number",
            "added": "She throws them all once more and adds this to what she had.",
            "end added": "Altogether she now has the number",
        },
    ),
    Wording(
        "record",
        {
            "setup": "{n} fair dice, faces 1 to {faces} on each, the sum counts",
            "roll": "Rolls: one",
            "seen": "Known about the sum: {facts}",
            "end": "Sum:",
            "before": "Previous sum: {results}",
            "befores": "Previous {k} sums: {results}",
            "again": "Rolls do not influence each other",
            "end again": "Next sum:",
            "added": "Rolls do not influence each other",
            "end added": "Total of all rolls, the next one included:",
        },
        "\n",
    ),
)
