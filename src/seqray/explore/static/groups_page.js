// A page of its own about groups: all of it is there already.

Terms.listen(() => {});
openGroups();
document.body.dataset.settled = "groups";
