def test_a_table_keeps_ids_and_labels_as_they_are(tmp_path, imported, write_table):
    table = write_table(
        tmp_path / "mine.csv",
        "case,confidence,choice,rain,x_age\n"
        "007,0.7,NA,yes,3\n008,about half,stay,no,4\n009,,stay,no,5\n",
    )
    runs = imported(
        table, mapping={"context": "case", "p": "confidence", "action": "choice", "theta": "rain"}
    ).runs
    assert runs["context"].tolist() == ["007", "008", "009"]
    assert runs["action"].tolist() == ["NA", "stay", "stay"]
    assert runs["status"].tolist() == ["ok", "unparsed", "unparsed"]
    assert runs["raw_belief"].tolist()[1] == "about half"
    assert runs["x_age"].tolist() == [3, 4, 5]
